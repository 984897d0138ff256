import type { EntityManager } from '@mikro-orm/sql'
import { createHash } from 'node:crypto'
import { audit } from '../../accounts/audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { db } from '../../platform/db/query.ts'
import type { Reads } from '../../platform/db/reads.ts'
import { squarePicture } from '../../platform/pictures/convert.ts'
import { identitySetting, type RegistryIdentity } from '../../platform/settings/identity.ts'
import { lockSetting, writeSetting } from '../../platform/settings/service.ts'
import { RegistryLogo } from './entity.ts'

const key = 'logo'

type Texts = { name?: string | null | undefined; description?: string | null | undefined }

/** Changes the name or the description of the registry. An empty name restores the built-in one. */
export const updateIdentity = (context: SignedInContext, { name, description }: Texts): Promise<void> =>
  change(context, (before) => ({
    ...before,
    ...(name != null && { name: name || identitySetting.initial.name }),
    ...(description != null && { description }),
  }))

/** Replaces the logo. @throws ApiError InvalidInput for a picture that is not accepted. */
export async function setLogo(context: SignedInContext, picture: Buffer): Promise<void> {
  const png = await squarePicture(picture, 'contain')
  const sha256 = createHash('sha256').update(png).digest('hex')
  await change(context, async (before, em) => {
    await em.upsert(RegistryLogo, { key, png, sha256 })
    return { ...before, logoTag: sha256.slice(0, 16) }
  })
}

/** Restores the built-in logo. */
export const removeLogo = (context: SignedInContext): Promise<void> =>
  change(context, async (before, em) => {
    await em.nativeDelete(RegistryLogo, { key })
    return { ...before, logoTag: null }
  })

export const findLogo = (reads: Reads): Promise<{ png: Uint8Array; sha256: string } | undefined> =>
  reads.get(db.selectFrom('registry_logos').select(['png', 'sha256']).where('key', '=', key))

type Update = (before: RegistryIdentity, em: EntityManager) => RegistryIdentity | Promise<RegistryIdentity>

/** Locks the setting first, which serializes concurrent changes. */
async function change({ em, viewer, ip }: SignedInContext, update: Update): Promise<void> {
  await em.fork().transactional(async (inner) => {
    const before = await lockSetting(inner, identitySetting)
    const after = await update(before, inner)
    const changes = describeChanges(before, after)
    if (changes.length === 0) return
    const summary = `${viewer.displayName} changed the registry's ${changes.join(', ')}`
    audit(inner, { actor: viewer, ip, kind: 'server.settings_updated', summary })
    await writeSetting(inner, identitySetting, after)
  })
}

function describeChanges(before: RegistryIdentity, after: RegistryIdentity): string[] {
  return [
    ...(before.name === after.name ? [] : [`name to “${after.name}”`]),
    ...(before.description === after.description ? [] : ['description']),
    ...(before.logoTag === after.logoTag ? [] : ['logo']),
  ]
}
