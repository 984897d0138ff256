import { LockMode } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { setTimeout as sleep } from 'node:timers/promises'
import { conflict, rateLimited, tooSlow } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { newId } from '../../platform/db/base.ts'
import { prepared } from '../../platform/db/query.ts'
import { readRows } from '../../platform/db/statements.ts'
import { Upload } from './entity.ts'
import { isReceiving, lockOwnUploads, type OwnUpload, ownUpload, selectUploads, unknownUpload } from './service.ts'

/** A connection's exclusive lease for sending an upload's archive, across all instances. `as` also names the staged bytes. */
export type Claim = { uploadId: string; as: string }

/** Lifetime of a claim without a heartbeat, in milliseconds. A claim whose instance crashed expires after this time. */
const claimMs = 30_000

/** Heartbeat interval of a sending connection, in milliseconds. */
const heartbeatMs = 250

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
async function renewClaim(context: SignedInContext, { uploadId, as }: Claim): Promise<boolean> {
  const kept = await context.em.fork().nativeUpdate(Upload, { id: uploadId, receivingAs: as }, { receivingUntil: claimExpiry(context) })
  return kept > 0
}

async function hasClaim({ em }: SignedInContext, { uploadId, as }: Claim): Promise<boolean> {
  return (await em.fork().count(Upload, { id: uploadId, receivingAs: as })) > 0
}

export async function releaseUploadClaim({ em }: SignedInContext, { uploadId, as }: Claim): Promise<void> {
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

/** Renews a claim while its connection is sending, and detects when another connection takes over. */
export type Heartbeat = {
  /** Call for each chunk of data. */
  recordActivity(): void
  /** Call at the end of the body. The claim is then renewed without further data while the server processes the archive. */
  complete(): void
  /** A promise that rejects when the claim is lost, when it has expired because no data arrived, or when the database is unavailable. */
  lost: Promise<never>
  stop(): void
}

export function startHeartbeat(context: SignedInContext, claim: Claim): Heartbeat {
  const { promise: lost, reject } = Promise.withResolvers<never>()
  lost.catch(() => undefined)
  let [isAlive, isComplete, isBusy, silentBeats] = [false, false, false, 0]
  async function beat(): Promise<void> {
    const wasAlive = isAlive || isComplete
    isAlive = false
    silentBeats = wasAlive ? 0 : silentBeats + 1
    if (silentBeats * heartbeatMs > claimMs) throw tooSlow()
    if (silentBeats % beatsPerCheck > 0) return
    if (!(await (wasAlive ? renewClaim(context, claim) : hasClaim(context, claim)))) throw uploadInProgress()
  }
  const timer = setInterval(() => {
    if (isBusy) return
    isBusy = true
    void beat()
      .catch(reject)
      .finally(() => (isBusy = false))
  }, heartbeatMs)
  return {
    recordActivity: () => void (isAlive = true),
    complete: () => void (isComplete = true),
    lost,
    stop: () => clearInterval(timer),
  }
}

/** An idle connection checks once per second whether its claim has been taken over. */
const beatsPerCheck = 4

/**
 * Reserves staging space of `bytes` for an upload, in addition to everything else the caller has staged. Requires `lockOwnUploads`. Deletes expired
 * uploads and returns the names of their staged bytes, which the caller must discard after the commit.
 * @throws ApiError RateLimitExceeded when the space is insufficient, with the time until enough other uploads have expired.
 */
export async function reserveSpace(em: EntityManager, context: SignedInContext, uploadId: string, bytes: number): Promise<string[]> {
  const now = context.now()
  const uploads = await readRows(em, context.viewer.isCiJob ? unfinishedOfJob : unfinishedOfUser, context.viewer.id)
  const [expired, live] = [uploads.filter((one) => isExpired(one, now)), uploads.filter((one) => !isExpired(one, now))]
  if (expired.length > 0) await em.nativeDelete(Upload, { id: { $in: expired.map(({ id }) => id) }, message: null })
  const others = live.map((one) => ({ expiresAt: one.expiresAt, bytes: staged(one) + (one.id === uploadId ? 0 : reserved(one, now)) }))
  // At least the maximum archive size, so that one archive always fits.
  const space = Math.max(context.config.UPLOAD_STAGING_BYTES, context.config.MAX_UPLOAD_BYTES)
  requireSpace(others, bytes, space, now)
  return expired.flatMap(({ stagedAs }) => stagedAs ?? [])
}

const unfinished = (owner: Parameters<typeof selectUploads>[0]) => selectUploads(owner).where('message', 'is', null).orderBy('expires_at')
const unfinishedOfUser = prepared((id: string) => unfinished({ id }))
const unfinishedOfJob = prepared((id: string) => unfinished({ id, isCiJob: true }))

const isExpired = (upload: OwnUpload, now: Date): boolean => upload.expiresAt <= now && !isReceiving(upload, now)
const staged = ({ stagedAs, bytes }: OwnUpload): number => (stagedAs === null ? 0 : (bytes ?? 0))
const reserved = (upload: OwnUpload, now: Date): number => (isReceiving(upload, now) ? (upload.reservedBytes ?? 0) : 0)

function requireSpace(others: { expiresAt: Date; bytes: number }[], bytes: number, space: number, now: Date): void {
  const taken = others.reduce((sum, one) => sum + one.bytes, 0)
  let excess = taken + bytes - space
  if (excess <= 0) return
  const until = others.find((one) => (excess -= one.bytes) <= 0) ?? others.at(-1)
  const seconds = Math.ceil(((until?.expiresAt ?? now).getTime() - now.getTime()) / 1000)
  throw rateLimited(
    Math.max(1, seconds),
    `Your unfinished uploads use ${taken} of the ${space} bytes that each user may stage (UPLOAD_STAGING_BYTES), so this archive does not fit. Finish them first.`,
  )
}
