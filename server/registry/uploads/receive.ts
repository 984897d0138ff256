import { LockMode } from '@mikro-orm/core'
import { Readable } from 'node:stream'
import type { SignedInContext } from '../../platform/access/context.ts'
import type { StoredBytes } from '../../platform/blobs/store.ts'
import { archiveTooLarge } from '../../errors.ts'
import { type Claim, claimUpload, type Heartbeat, releaseUploadClaim, reserveMore, startHeartbeat, uploadInProgress } from './claim.ts'
import { requireFreeSpace } from '../../platform/store/health.ts'
import { Upload } from './entity.ts'
import { readSmallBody, receiveWhole } from './receive-whole.ts'
import { unknownUpload } from './service.ts'

/**
 * Receives the archive of an upload and stages it, replacing an archive sent earlier. If the upload is already finished, the body is read and
 * discarded. If receiving fails, the upload keeps its state, so that the client can retry. `announced` is the Content-Length of the request, an upper
 * bound for the size of the archive, or null if the header is missing.
 * @throws ApiError NotFound if the upload belongs to another user or has expired; Conflict while another connection sends its archive;
 * PackageRejected (413) above MAX_UPLOAD_BYTES; RateLimitExceeded if the caller has staged too much; ServiceUnavailable if disk space is low.
 */
export async function receiveUpload(context: SignedInContext, uploadId: string, source: Readable, announced: number | null): Promise<void> {
  const limit = context.config.MAX_UPLOAD_BYTES
  await requireFreeSpace(context.config)
  const { whole, chunks } = await readSmallBody(context, source, announced, limit)
  if (whole && (await receiveWhole(context, uploadId, whole))) return
  const reserved = Math.min(announced ?? 0, limit)
  const claim = await claimUpload(context, uploadId, reserved)
  if (!claim) return drain(chunks, limit)
  const heartbeat = startHeartbeat(context, claim)
  try {
    await stage(context, claim, whileClaimed(context, claim, heartbeat, { chunks, reserved }))
  } catch (error) {
    // If the database is unavailable, keep the original error. The claim then expires by itself.
    await releaseUploadClaim(context, claim).catch(() => undefined)
    throw error
  } finally {
    heartbeat.stop()
  }
}

/** Increment in bytes for reserving staging space when the body length is unknown. */
const stepBytes = 8 * 1024 ** 2

async function stage(context: SignedInContext, claim: Claim, chunks: AsyncGenerator<Buffer>): Promise<void> {
  const { blobs, config } = context
  const body = Readable.from(chunks)
  try {
    const stored = await blobs.stage(claim.as, body, config.MAX_UPLOAD_BYTES)
    const obsolete = await recordBytes(context, claim, stored)
    if (obsolete) await blobs.discard(obsolete)
  } catch (error) {
    await blobs.discard(claim.as)
    throw error
  } finally {
    body.destroy()
  }
}

type PendingBody = { chunks: AsyncIterator<Buffer, undefined>; reserved: number }

/** Yields the body while the claim holds and staging space is available. */
async function* whileClaimed(
  context: SignedInContext,
  claim: Claim,
  heartbeat: Heartbeat,
  { chunks, reserved }: PendingBody,
): AsyncGenerator<Buffer> {
  const limit = context.config.MAX_UPLOAD_BYTES
  let [received, space] = [0, reserved]
  for (;;) {
    const next = await Promise.race([chunks.next(), heartbeat.lost])
    heartbeat.recordActivity()
    if (next.done) return heartbeat.complete()
    received += next.value.length
    if (received > space && received <= limit) {
      space = Math.min(received + stepBytes, limit)
      await reserveMore(context, claim, space)
    }
    yield next.value
  }
}

/** Reads and discards the body so that the client receives the response. Stops at the archive size limit. */
async function drain(chunks: AsyncIterator<Buffer, undefined>, limit: number): Promise<void> {
  let bytes = 0
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
    bytes += next.value.length
    if (bytes > limit) throw archiveTooLarge(limit)
  }
}

/** Records the staged bytes. Returns the staged bytes to discard: the previous ones, or the new ones if the upload is already finished. */
function recordBytes({ em, now }: SignedInContext, { uploadId, as }: Claim, stored: StoredBytes): Promise<string | null> {
  return em.fork().transactional(async (em) => {
    const upload = await em.findOne(Upload, { id: uploadId }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (!upload || (upload.message === null && upload.expiresAt <= now())) throw unknownUpload()
    if (upload.message !== null) return as
    if (upload.receivingAs !== as) throw uploadInProgress()
    const before = upload.stagedAs ?? null
    em.assign(upload, { ...stored, stagedAs: as, receivingAs: null, receivingUntil: null, reservedBytes: null })
    return before
  })
}
