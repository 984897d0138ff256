import type { SignedInContext } from '../../platform/access/context.ts'
import { insufficientPermissions } from '../../errors.ts'
import { type Chain, publicDependents } from '../packages/dependents/breakage.ts'
import { Package, type Visibility } from '../packages/entity.ts'
import { notAdministered } from '../packages/change-package.ts'
import { canChangeVisibility, canPreviewVisibility, isVisibilityOpenTo } from '../packages/policy.ts'
import { adviceForAdmin } from '../../platform/access/roles.ts'
import { closureOf } from './service.ts'
import { publicPackagesStatus, type PublicPackagesStatus } from './switch.ts'

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
  const { em, config } = context
  if (visibility === 'private') {
    return { visibility, closure: [], breaks: pkg.visibility === 'public' ? await publicDependents(em, config, [pkg.name]) : [] }
  }
  return { visibility, closure: await companionsOf(context, pkg), breaks: [] }
}

async function companionsOf(context: SignedInContext, pkg: Package): Promise<Companion[]> {
  const { em, config } = context
  const { companions } = await closureOf(em, config, pkg.name)
  const chains = new Map(companions.map(({ name, chain }) => [name, chain]))
  const packages = await em.find(Package, { name: { $in: [...chains.keys()] } }, { orderBy: { name: 'asc' } })
  return Promise.all(
    packages.map(async (one) => ({
      package: one,
      chain: chains.get(one.name) ?? [],
      viewerCanAdminister: await canPreviewVisibility(em, context, one),
    })),
  )
}

async function requireAdministration(context: SignedInContext, pkg: Package): Promise<void> {
  if (!(await canPreviewVisibility(context.em, context, pkg)))
    throw insufficientPermissions(notAdministered(pkg.name) + adviceForAdmin(context))
}
