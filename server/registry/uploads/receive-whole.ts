import type { EntityManager } from '@mikro-orm/sql'
import type { SignedInContext } from '../../platform/access/context.ts'
import type { StoredBytes } from '../../platform/blobs/store.ts'
import { newId } from '../../platform/db/base.ts'
import { changeRows, withoutSync } from '../../platform/db/statements.ts'
import { cacheStagedBytes } from './recent-bytes.ts'
import { isReceiving, lockOwnUploads, type OwnUpload, ownUpload } from './service.ts'
import { reserveSpace } from './staging-space.ts'

/**
 * Receives an archive that is completely in memory, in a single transaction and without a claim. Returns false when another connection is sending to
 * the same upload, or the upload changes concurrently; the caller must then use a claim.
 * @throws ApiError NotFound when the upload is not the caller's or has expired; RateLimitExceeded when the caller has staged too much.
 */
export async function receiveWhole(context: SignedInContext, uploadId: string, bytes: Buffer): Promise<boolean> {
  const { blobs } = context
  const upload = await ownUpload(context, uploadId)
  if (upload.message !== null) return true
  if (isReceiving(upload, context.now())) return false
  const as = newId()
  let obsolete = [as]
  try {
    const stored = await blobs.stageWhole(as, bytes)
    const kept = await recordBytes(context, upload, as, stored)
    if (!kept) return false
    cacheStagedBytes(context, as, bytes)
    obsolete = kept
    return true
  } finally {
    for (const name of obsolete) await blobs.discard(name)
  }
}

/** Records the staged bytes. Returns the names of staged bytes to discard, or null when the upload has changed. */
function recordBytes(context: SignedInContext, upload: OwnUpload, as: string, stored: StoredBytes): Promise<string[] | null> {
  const { sha256, bytes, crc32c } = stored
  const recordIn = async (em: EntityManager): Promise<string[] | null> => {
    await lockOwnUploads(em, context)
    const expired = await reserveSpace(em, context, upload.id, bytes)
    const now = context.now()
    const kept = await changeRows(em, keep, [as, sha256, bytes, crc32c, upload.id, now, now, upload.stagedAs ?? null])
    if (kept === 0) return null
    return upload.stagedAs ? [...expired, upload.stagedAs] : expired
  }
  return withoutSync(() => context.em.fork().transactional(recordIn))
}

const keep = `update uploads set staged_as = ?, sha256 = ?, bytes = ?, crc32c = ?, receiving_as = null, receiving_until = null, reserved_bytes = null
  where id = ? and message is null and expires_at > ? and (receiving_as is null or receiving_until <= ?) and staged_as is not distinct from ?`
