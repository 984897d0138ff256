import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SignedInContext } from '../access/context.ts'
import { newId } from '../db/base.ts'
import { conflict } from '../errors.ts'
import { Upload } from './entity.ts'
import { isReceiving, lockOwnUploads, type OwnUpload, ownUpload, unknownUpload } from './service.ts'
import { reserveSpace } from './staging-space.ts'

/** A connection's right to send the archive of an upload. One has it at a time, on all instances; `as` is also where its bytes are staged. */
export type Claim = { uploadId: string; as: string }

/** How long a claim holds without a sign of its connection; it outlives its instance by this at most. */
export const claimMs = 30_000

/** How often a connection that sends says so. */
export const beatMs = 250

/**
 * Claims an upload for the connection that asks, with staging space for `bytes`; null when the upload is finished. A connection that has sent
 * nothing for a second loses its claim to the one that asks: its client may be gone without the server having noticed.
 * @throws ApiError NotFound; Conflict while another connection is sending; RateLimitExceeded without staging space.
 */
export async function claimUpload(context: SignedInContext, uploadId: string, bytes: number): Promise<Claim | null> {
  const upload = await ownUpload(context, uploadId)
  if (upload.message !== null) return null
  const silent = await silentRival(context, upload)
  const claim = { uploadId: upload.id, as: newId() }
  const isOpen = await reserve(context, claim, bytes, (em, current) => {
    if (isReceiving(current, context.now()) && current.receivingAs !== silent) throw otherConnection()
    em.assign(current, { receivingAs: claim.as, receivingUntil: aliveUntil(context), reservedBytes: bytes })
  })
  return isOpen ? claim : null
}

/** Promises more staging space to a connection that did not say how much it sends. Throws as `claimUpload` does. */
export async function reserveMore(context: SignedInContext, claim: Claim, bytes: number): Promise<void> {
  await reserve(context, claim, bytes, (em, current) => {
    if (current.receivingAs !== claim.as) throw otherConnection()
    em.assign(current, { reservedBytes: bytes, receivingUntil: aliveUntil(context) })
  })
}

/** Says that the connection has sent more, and tells whether it still has its claim. */
export async function keepClaim(context: SignedInContext, { uploadId, as }: Claim): Promise<boolean> {
  const kept = await context.em.fork().nativeUpdate(Upload, { id: uploadId, receivingAs: as }, { receivingUntil: aliveUntil(context) })
  return kept > 0
}

/** Tells whether the connection still has its claim. */
export async function hasClaim({ em }: SignedInContext, { uploadId, as }: Claim): Promise<boolean> {
  return (await em.fork().count(Upload, { id: uploadId, receivingAs: as })) > 0
}

/** Gives a claim back, so that the next connection may send. */
export async function releaseClaim({ em }: SignedInContext, { uploadId, as }: Claim): Promise<void> {
  await em.fork().nativeUpdate(Upload, { id: uploadId, receivingAs: as }, { receivingAs: null, receivingUntil: null, reservedBytes: null })
}

/** 409: two connections send the archive of one upload. */
export const otherConnection = () =>
  conflict('Another connection is sending the archive of this upload. Wait for it to end, or publish again to get an upload of its own.')

const patienceMs = 1000
const pollMs = 100

const aliveUntil = ({ now }: SignedInContext): Date => new Date(now().getTime() + claimMs)

/**
 * The connection that has the claim and sends nothing, if any. What it sent just before may show once more, so only a second sign of life tells
 * that it sends.
 */
async function silentRival(context: SignedInContext, upload: OwnUpload): Promise<string | null> {
  let [seen, signs, silentFor] = [upload, 0, 0]
  while (isReceiving(seen, context.now()) && silentFor < patienceMs) {
    await sleep(pollMs)
    const current = await ownUpload(context, upload.id)
    if (isReceiving(current, context.now()) && current.receivingAs !== upload.receivingAs) throw otherConnection()
    const isSign = current.receivingUntil?.getTime() !== seen.receivingUntil?.getTime()
    if (isSign && ++signs > 1) throw otherConnection()
    silentFor = isSign ? 0 : silentFor + pollMs
    seen = current
  }
  return isReceiving(seen, context.now()) ? (seen.receivingAs ?? null) : null
}

/** Changes an open upload and reserves space for it while nobody else counts its owner's. False when it is finished: then nothing changes. */
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
