import type { EntityManager } from '@mikro-orm/sql'
import { createHash } from 'node:crypto'
import { audit } from '../audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import type { Reads } from '../../platform/db/reads.ts'
import { missingAuthentication, invalidInput } from '../../errors.ts'
import { Avatar, User } from '../users/entity.ts'
import pLimit from 'p-limit'
import type { Sharp } from 'sharp'
import { reloadUser } from '../users/service.ts'

/**
 * Sets or replaces the caller's picture.
 * @throws ApiError InvalidInput for a picture that is not accepted.
 */
export async function setAvatar({ em, viewer, ip }: SignedInContext, picture: Buffer): Promise<User> {
  const png = await squarePicture(picture)
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
export async function findAvatar(reads: Reads, userId: string): Promise<{ png: Buffer; sha256: string } | undefined> {
  return reads.get<{ png: Buffer; sha256: string }>('select png, sha256 from avatars where user_id = ?', userId)
}

/** Called first in each transaction, so that the row lock of the account serializes concurrent changes. */
async function tag(em: EntityManager, userId: string, avatarTag: string | null): Promise<void> {
  if ((await em.nativeUpdate(User, { id: userId }, { avatarTag })) === 0) throw missingAuthentication('Your account was deleted.')
}

/** Width and height of an avatar in pixels. */
const edge = 512
const maxPixels = 25_000_000

/**
 * Crops a PNG, JPEG or WebP picture to a centered square PNG, upright and without metadata. Animations are reduced to their first frame.
 * @throws ApiError InvalidInput for other formats, corrupt pictures, and pictures with more than 25 megapixels.
 */
async function squarePicture(bytes: Buffer): Promise<Buffer> {
  if (!signatures.some((signature) => signature.test(bytes.toString('latin1', 0, 16)))) throw unreadable()
  const sharp = await (loading ??= loadSharp())
  return inTurn(async () => {
    await refuseHuge(sharp(bytes, { limitInputPixels: false }))
    const picture = sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error' })
    return picture
      .autoOrient()
      .resize(edge, edge, { fit: 'cover' })
      .timeout({ seconds: 20 })
      .png({ compressionLevel: 9 })
      .toBuffer()
      .catch(refuse)
  })
}

// Magic numbers of the accepted formats. The name and the declared type of a file are not trusted.
const signatures = [/^\x89PNG\r\n/, /^\xff\xd8\xff/, /^RIFF[^]{4}WEBP/]

const inTurn = pLimit(2)
let loading: Promise<(typeof import('sharp'))['default']> | undefined

/** Loads the library on first use, so that servers without avatars save its memory. */
async function loadSharp() {
  const { default: sharp } = await import('sharp')
  sharp.cache(false)
  sharp.concurrency(1)
  // Of the decoders in the library, only those of the accepted formats are enabled.
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: ['VipsForeignLoadPngBuffer', 'VipsForeignLoadJpegBuffer', 'VipsForeignLoadWebpBuffer'] })
  return sharp
}

/** Checks the size in the picture's header, before any pixels are decoded. */
async function refuseHuge(picture: Sharp): Promise<void> {
  const { width, height } = await picture.metadata().catch(refuse)
  if (width * height > maxPixels) throw invalidInput(`file: has ${width} × ${height} pixels; at most 25 megapixels are accepted.`, 'file')
}

const unreadable = () => invalidInput('file: is not a PNG, JPEG or WebP picture that can be read.', 'file')

function refuse(): never {
  throw unreadable()
}
