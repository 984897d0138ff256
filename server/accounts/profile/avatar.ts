import type { EntityManager } from '@mikro-orm/sql'
import { createHash } from 'node:crypto'
import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { db } from '../../platform/db/query.ts'
import type { Reads } from '../../platform/db/reads.ts'
import { missingAuthentication } from '../../errors.ts'
import { Avatar, User } from '../users/entity.ts'
import { squarePicture } from '../../platform/pictures/convert.ts'
import { reloadUser } from '../users/service.ts'

/**
 * Sets or replaces the caller's picture.
 * @throws ApiError InvalidInput for a picture that is not accepted.
 */
export async function setAvatar({ em, viewer, ip }: SignedInContext, picture: Buffer): Promise<User> {
  const png = await squarePicture(picture, 'cover')
  const sha256 = createHash('sha256').update(png).digest('hex')
  await em.transactional(async (inner) => {
    await tag(inner, viewer.id, sha256.slice(0, 16))
    await inner.upsert(Avatar, { user: viewer.id, png, sha256 })
    audit(inner, { kind: 'user.updated', actor: viewer, user: viewer, summary: `${viewer.displayName} changed their picture`, ip })
  })
  return reloadUser(em, viewer.id)
}

/** Removes the caller's picture. Has no effect without a picture. */
export async function removeAvatar({ em, viewer, ip }: SignedInContext): Promise<User> {
  await em.transactional(async (inner) => {
    await tag(inner, viewer.id, null)
    if ((await inner.nativeDelete(Avatar, { user: viewer.id })) === 0) return
    audit(inner, { kind: 'user.updated', actor: viewer, user: viewer, summary: `${viewer.displayName} removed their picture`, ip })
  })
  return reloadUser(em, viewer.id)
}

/** Returns the picture of a user, even of a disabled account, since published packages still show it. */
export async function findAvatar(reads: Reads, userId: string): Promise<{ png: Uint8Array; sha256: string } | undefined> {
  return reads.get(db.selectFrom('avatars').select(['png', 'sha256']).where('user_id', '=', userId))
}

/** Called first in each transaction, so that the row lock of the account serializes concurrent changes. */
async function tag(em: EntityManager, userId: string, avatarTag: string | null): Promise<void> {
  if ((await em.nativeUpdate(User, { id: userId }, { avatarTag })) === 0) throw missingAuthentication('Your account was deleted.')
}
