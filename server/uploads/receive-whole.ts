import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../access/context.ts'
import type { StoredBytes } from '../blobs/store.ts'
import { newId } from '../db/base.ts'
import { changeRows } from '../db/statements.ts'
import { unforced } from '../db/sqlite/unforced.ts'
import { keepFresh } from './fresh.ts'
import { isReceiving, lockOwnUploads, type OwnUpload, ownUpload } from './service.ts'
import { reserveSpace } from './staging-space.ts'

/**
 * Takes an archive that is all there: it needs no claim while it comes, and so one transaction. False when another connection is sending to the
 * same upload, or the upload changes meanwhile: then it has to be claimed like any other.
 * @throws ApiError NotFound when the upload is not the caller's or has expired; RateLimitExceeded when the caller has staged too much.
 */
export async function receiveWhole(context: SignedInContext, uploadId: string, bytes: Buffer): Promise<boolean> {
  const { blobs } = context
  const upload = await ownUpload(context, uploadId)
  if (upload.message !== null) return true
  if (isReceiving(upload, context.now())) return false
  const as = newId()
  let unneeded = [as]
  try {
    const stored = await blobs.stageWhole(as, bytes)
    const kept = await keepWhole(context, upload, as, stored)
    if (!kept) return false
    keepFresh(context, as, bytes)
    unneeded = kept
    return true
  } finally {
    for (const name of unneeded) await blobs.discard(name)
  }
}

/** Writes down where the bytes are; gives the staged bytes that nobody needs now, or null when the upload is not as it was. */
function keepWhole(context: SignedInContext, upload: OwnUpload, as: string, stored: StoredBytes): Promise<string[] | null> {
  const { sha256, bytes, crc32c } = stored
  const keepIn = async (em: EntityManager): Promise<string[] | null> => {
    await lockOwnUploads(em, context)
    const expired = await reserveSpace(em, context, upload.id, bytes)
    const now = context.now()
    const kept = await changeRows(em, keep, [as, sha256, bytes, crc32c, upload.id, now, now, upload.stagedAs ?? null])
    if (kept === 0) return null
    return upload.stagedAs ? [...expired, upload.stagedAs] : expired
  }
  return unforced(() => context.em.fork().transactional(keepIn))
}

const keep = `update uploads set staged_as = ?, sha256 = ?, bytes = ?, crc32c = ?, receiving_as = null, receiving_until = null, reserved_bytes = null
  where id = ? and message is null and expires_at > ? and (receiving_as is null or receiving_until <= ?) and staged_as is not distinct from ?`
