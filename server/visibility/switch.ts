import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../access/context.ts'
import { insufficientPermissions } from '../errors.ts'
import { Package } from '../packages/entity.ts'
import { requireRecentProof } from '../access/proof.ts'
import { lockSetting, readSetting, writeSetting } from '../settings/service.ts'
import { publicPackagesSwitch, type PublicPackagesSwitch } from '../access/browsing.ts'

/** The state of public packages on this server. */
export type PublicPackagesStatus = PublicPackagesSwitch & { permittedByEnvironment: boolean }

/** What the environment and the administrators decided. */
export async function publicPackagesStatus({ config, database }: Pick<Context, 'config' | 'database'>): Promise<PublicPackagesStatus> {
  return { ...(await readSetting(database.reads, publicPackagesSwitch)), permittedByEnvironment: config.PUBLIC_PACKAGES_ENABLED }
}

export const countEveryPackage = ({ em }: Pick<Context, 'em'>): Promise<number> => em.count(Package)
export const countPublicPackages = ({ em }: Pick<Context, 'em'>): Promise<number> => em.count(Package, { visibility: 'public' })

/**
 * Sets the server's switch. The next request sees it.
 * @throws ApiError InsufficientPermissions when the environment does not permit public packages, and for a session that did not prove its password
 *   lately.
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
      const who = after.requiresServerAdmin ? 'server administrators only' : 'whoever administers them'
      const summary = `${viewer.displayName} allowed ${who} to make packages public or private`
      audit(inner, { ...entry, kind: 'server.settings_updated', summary })
    }
    await writeSetting(inner, publicPackagesSwitch, after)
  })
  return publicPackagesStatus(context)
}
