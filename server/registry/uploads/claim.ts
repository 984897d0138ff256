import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SignedInContext } from '../../platform/access/context.ts'
import { newId } from '../../platform/db/base.ts'
import { conflict } from '../../errors.ts'
import { Upload } from './entity.ts'
import { isReceiving, lockOwnUploads, type OwnUpload, ownUpload, unknownUpload } from './service.ts'
import { reserveSpace } from './staging-space.ts'

/** A connection's exclusive lease for sending an upload's archive, across all instances. `as` also names the staged bytes. */
export type Claim = { uploadId: string; as: string }

/** Lifetime of a claim without a heartbeat, in milliseconds. A claim whose instance crashed expires after this time. */
export const claimMs = 30_000

/** Heartbeat interval of a sending connection, in milliseconds. */
export const heartbeatMs = 250

/**
 * Claims an upload for this connection and reserves staging space for `bytes`. Returns null when the upload is already finished. Takes over the claim
 * of a connection that has been idle for a second: its client may have disconnected unnoticed.
 * @throws ApiError NotFound; Conflict while another connection is sending; RateLimitExceeded without staging space.
 */
export async function claimUpload(context: SignedInContext, uploadId: string, bytes: number): Promise<Claim | null> {
  const upload = await ownUpload(context, uploadId)
  if (upload.message !== null) return null
  const idle = await findIdleConnection(context, upload)
  const claim = { uploadId: upload.id, as: newId() }
  const isOpen = await reserve(context, claim, bytes, (em, current) => {
    if (isReceiving(current, context.now()) && current.receivingAs !== idle) throw uploadInProgress()
    em.assign(current, { receivingAs: claim.as, receivingUntil: claimExpiry(context), reservedBytes: bytes })
  })
  return isOpen ? claim : null
}

/** Reserves more staging space for a connection that did not announce the archive's size. Throws the same errors as `claimUpload`. */
export async function reserveMore(context: SignedInContext, claim: Claim, bytes: number): Promise<void> {
  await reserve(context, claim, bytes, (em, current) => {
    if (current.receivingAs !== claim.as) throw uploadInProgress()
    em.assign(current, { reservedBytes: bytes, receivingUntil: claimExpiry(context) })
  })
}

/** Renews the claim. Returns false when the claim was lost. */
export async function renewClaim(context: SignedInContext, { uploadId, as }: Claim): Promise<boolean> {
  const kept = await context.em.fork().nativeUpdate(Upload, { id: uploadId, receivingAs: as }, { receivingUntil: claimExpiry(context) })
  return kept > 0
}

/** Returns whether the connection still holds its claim. */
export async function hasClaim({ em }: SignedInContext, { uploadId, as }: Claim): Promise<boolean> {
  return (await em.fork().count(Upload, { id: uploadId, receivingAs: as })) > 0
}

/** Releases the claim, so that another connection can send. */
export async function releaseClaim({ em }: SignedInContext, { uploadId, as }: Claim): Promise<void> {
  await em.fork().nativeUpdate(Upload, { id: uploadId, receivingAs: as }, { receivingAs: null, receivingUntil: null, reservedBytes: null })
}

/** Returns the 409 error for an upload whose archive another connection is already sending. */
export const uploadInProgress = () =>
  conflict(
    'Another connection is already sending the archive of this upload. Wait until it has finished, or publish again to start a new upload.',
  )

const maxIdleMs = 1000
const pollMs = 100

const claimExpiry = ({ now }: SignedInContext): Date => new Date(now().getTime() + claimMs)

/**
 * Returns the connection that holds the claim if it is idle, or null if there is no claim. Throws Conflict if that connection is sending. Bytes sent
 * just before the first look can cause one renewal, so only a second renewal proves activity.
 */
async function findIdleConnection(context: SignedInContext, upload: OwnUpload): Promise<string | null> {
  let [seen, renewals, silentFor] = [upload, 0, 0]
  while (isReceiving(seen, context.now()) && silentFor < maxIdleMs) {
    await sleep(pollMs)
    const current = await ownUpload(context, upload.id)
    if (isReceiving(current, context.now()) && current.receivingAs !== upload.receivingAs) throw uploadInProgress()
    const isRenewed = current.receivingUntil?.getTime() !== seen.receivingUntil?.getTime()
    if (isRenewed && ++renewals > 1) throw uploadInProgress()
    silentFor = isRenewed ? 0 : silentFor + pollMs
    seen = current
  }
  return isReceiving(seen, context.now()) ? (seen.receivingAs ?? null) : null
}

/**
 * Changes an open upload and reserves staging space for it, under the lock on the user's uploads. Returns false without changes when the upload is
 * finished.
 */
async function reserve(
  context: SignedInContext,
  { uploadId }: Claim,
  bytes: number,
  change: (em: EntityManager, current: Upload) => void,
): Promise<boolean> {
  const discarded = await context.em.fork().transactional(async (em) => {
    await lockOwnUploads(em, context)
    const current = await em.findOne(Upload, { id: uploadId }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (current?.message != null) return null
    if (!current || current.expiresAt <= context.now()) throw unknownUpload()
    change(em, current)
    return reserveSpace(em, context, uploadId, bytes)
  })
  for (const name of discarded ?? []) await context.blobs.discard(name)
  return discarded !== null
}
