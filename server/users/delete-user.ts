import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../context.ts'
import { conflict, insufficientPermissions } from '../errors.ts'
import { PackageUploader } from '../packages/entity.ts'
import { editable } from './editable.ts'
import { User } from './entity.ts'

/**
 * Deletes an account with its sessions, tokens and likes. What the person published stays, and shows "deleted user" (decisions §4).
 * @throws ApiError NotFound; InsufficientPermissions for the owner and for oneself; Conflict, with the names, while packages have no other uploader.
 */
export async function deleteUser({ em, viewer, ip }: SignedInContext, id: string): Promise<void> {
  if (id === viewer.id) throw insufficientPermissions('Nobody deletes their own account here. Ask another administrator.')
  await em.transactional(async (inner) => {
    await editable(inner, id)
    // Locked, so that neither a transfer of ownership nor a first publish slips in between.
    const user = await inner.findOneOrFail(User, id, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true })
    await editable(inner, id)
    const orphans = await onlyUploaderOf(inner, id)
    if (orphans.length)
      throw conflict(`${user.displayName} is the only uploader of ${orphans.join(', ')}. Add another uploader to each first.`)
    audit(inner, {
      kind: 'user.deleted',
      actor: viewer,
      user,
      summary: `${viewer.displayName} deleted the account of ${user.displayName}`,
      ip,
    })
    inner.remove(user)
  })
}

/** Names of the packages that would be left without anybody; their rows stay locked. */
async function onlyUploaderOf(em: EntityManager, userId: string): Promise<string[]> {
  const uploads = await em.find(
    PackageUploader,
    { user: userId },
    { populate: ['package'], lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { package: { name: 'asc' } } },
  )
  if (uploads.length === 0) return []
  const shared = await em.find(PackageUploader, { package: { $in: uploads.map((upload) => upload.package.id) }, user: { $ne: userId } })
  const kept = new Set(shared.map((upload) => upload.package.id))
  return uploads.filter((upload) => !kept.has(upload.package.id)).map((upload) => upload.package.name)
}
