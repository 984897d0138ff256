import { audit } from '../../accounts/audit/service.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { insufficientPermissions } from '../../errors.ts'
import { Package } from '../packages/entity.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { lockSetting, readSetting, writeSetting } from '../../platform/settings/service.ts'
import { publicPackagesSwitch, type PublicPackagesSwitch } from '../../platform/access/audience.ts'

/** Whether this server has public packages: what the environment permits and what administrators chose. */
export type PublicPackagesStatus = PublicPackagesSwitch & { permittedByEnvironment: boolean }

/** Returns whether the environment and the server's switch allow public packages. */
export async function publicPackagesStatus({ config, database }: Pick<Context, 'config' | 'database'>): Promise<PublicPackagesStatus> {
  return { ...(await readSetting(database.reads, publicPackagesSwitch)), permittedByEnvironment: config.PUBLIC_PACKAGES_ENABLED }
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
