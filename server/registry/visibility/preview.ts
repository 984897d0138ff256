import { audit } from '../../accounts/audit/service.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { insufficientPermissions } from '../../errors.ts'
import { Package, type Visibility } from '../packages/entity.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { loadSetting, lockSetting, writeSetting } from '../../platform/settings/service.ts'
import { publicPackagesSwitch, type PublicPackagesSwitch } from '../../platform/access/audience.ts'
import { type Chain, publicDependents } from '../packages/dependents/breakage.ts'
import { notAdministered } from '../packages/change-package.ts'
import { canChangeVisibility, canPreviewVisibility, isVisibilityOpenTo } from '../packages/policy.ts'
import { loadPackageByName } from '../packages/service.ts'
import { adviceForAdmin } from '../../platform/access/roles.ts'
import { closureOf } from './service.ts'

/** Whether packages can be public on this server: what administrators chose, and whether the environment permits it. */
export type PublicPackagesStatus = PublicPackagesSwitch & { permittedByEnvironment: boolean }

/** Returns whether the environment and the server's switch allow public packages. */
export async function publicPackagesStatus(context: Pick<Context, 'config' | 'em'>): Promise<PublicPackagesStatus> {
  return { ...(await loadSetting(context, publicPackagesSwitch)), permittedByEnvironment: context.config.PUBLIC_PACKAGES_ENABLED }
}

export const countEveryPackage = ({ em }: Pick<Context, 'em'>): Promise<number> => em.count(Package)
export const countPublicPackages = ({ em }: Pick<Context, 'em'>): Promise<number> => em.count(Package, { visibility: 'public' })

/**
 * Changes the switch for public packages. Takes effect with the next request.
 * @throws ApiError InsufficientPermissions if the environment does not permit public packages, or without a recent confirmation of the password.
 */
export async function setPublicPackages(
  context: SignedInContext,
  wanted: { enabled: boolean; requiresServerAdmin?: boolean | null | undefined },
): Promise<PublicPackagesStatus> {
  const { config, em, viewer, ip } = context
  requireRecentProof(context)
  if (!config.PUBLIC_PACKAGES_ENABLED) {
    throw insufficientPermissions(
      'The environment of this server does not permit public packages. Set PUBLIC_PACKAGES_ENABLED=true and restart it.',
    )
  }
  await em.fork().transactional(async (inner) => {
    const before = await lockSetting(inner, publicPackagesSwitch)
    const after = { enabled: wanted.enabled, requiresServerAdmin: wanted.requiresServerAdmin ?? before.requiresServerAdmin }
    const entry = { actor: viewer, ip }
    if (after.enabled !== before.enabled) {
      const direction = after.enabled ? 'enabled' : 'disabled'
      audit(inner, { ...entry, kind: `server.public_packages_${direction}`, summary: `${viewer.displayName} ${direction} public packages` })
    }
    if (after.requiresServerAdmin !== before.requiresServerAdmin) {
      const who = after.requiresServerAdmin ? 'server administrators only' : 'the administrators of each package'
      const summary = `${viewer.displayName} allowed ${who} to make packages public or private`
      audit(inner, { ...entry, kind: 'server.settings_updated', summary })
    }
    await writeSetting(inner, publicPackagesSwitch, after)
  })
  return publicPackagesStatus(context)
}

/** Who can read a package, and the settings that determine it. */
export type VisibilityState = PublicPackagesStatus & { visibility: Visibility; viewerCanChange: boolean }

/** A private dependency that must become public too, the chain that leads to it, and whether the caller administers it. */
export type Companion = { package: Package; chain: Chain; viewerCanAdminister: boolean }

export type VisibilityPreview = { visibility: Visibility; closure: Companion[]; breaks: Chain[] }

/** Returns who can read the package. Throws InsufficientPermissions for callers who do not administer it. */
export async function visibilityState(context: SignedInContext, pkg: Package): Promise<VisibilityState> {
  await requireAdministration(context, pkg)
  const status = await publicPackagesStatus(context)
  const viewerCanChange = isVisibilityOpenTo(context, status) && (await canChangeVisibility(context.em, context, pkg))
  return { ...status, visibility: pkg.visibility, viewerCanChange }
}

/** Returns the private dependencies that must become public too, or the public packages that would break. */
export async function previewVisibility(context: SignedInContext, pkg: Package, visibility: Visibility): Promise<VisibilityPreview> {
  await requireAdministration(context, pkg)
  if (visibility === 'private') {
    return { visibility, closure: [], breaks: pkg.visibility === 'public' ? await publicDependents(context, [pkg.name]) : [] }
  }
  return { visibility, closure: await companionsOf(context, pkg), breaks: [] }
}

async function companionsOf(context: SignedInContext, pkg: Package): Promise<Companion[]> {
  const { em, config } = context
  const { companions } = await closureOf(em, config, pkg.name)
  const found = await Promise.all(
    companions.map(async ({ name, chain }) => {
      const one = await loadPackageByName(context, name)
      return one && { package: one, chain, viewerCanAdminister: await canPreviewVisibility(em, context, one) }
    }),
  )
  return found.filter((companion) => companion !== null)
}

async function requireAdministration(context: SignedInContext, pkg: Package): Promise<void> {
  if (!(await canPreviewVisibility(context.em, context, pkg)))
    throw insufficientPermissions(notAdministered(pkg.name) + adviceForAdmin(context))
}
