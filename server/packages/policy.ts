import type { EntityManager } from '@mikro-orm/sql'
import { batched } from '../db/batched.ts'
import { isServerAdmin, type Viewer } from '../users/policy.ts'
import { PackageUploader } from './entity.ts'

type PackageKey = { id: string }

/** Whoever may add versions: a named uploader or a server admin (decisions §3). The scope `write` is asked for at the door. */
export async function canPublish(em: EntityManager, viewer: Viewer, pkg: PackageKey): Promise<boolean> {
  return isServerAdmin(viewer) || (await isUploader(em, viewer, pkg))
}

/** Whoever may change a package's options, uploaders and owner: a named uploader or a server admin (decisions §3, "package admin"). */
export async function canAdminister(em: EntityManager, viewer: Viewer, pkg: PackageKey): Promise<boolean> {
  return isServerAdmin(viewer) || (await isUploader(em, viewer, pkg))
}

/** Whether the person is named as an uploader. */
async function isUploader(em: EntityManager, viewer: Viewer, pkg: PackageKey): Promise<boolean> {
  return (await loadNaming({ em }, `${pkg.id} ${viewer.id}`)) ?? false
}

/** By package and person, for lists ask it of each of their packages. */
const loadNaming = batched(async (em, keys) => {
  const pairs = keys.map((key) => key.split(' ')).map(([pkg = '', user = '']) => ({ package: pkg, user }))
  const rows = await em.find(PackageUploader, { $or: pairs })
  return new Map(rows.map((row) => [`${row.package.id} ${row.user.id}`, true]))
})
