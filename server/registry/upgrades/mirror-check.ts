import { ApiError, invalidInput, serviceUnavailable } from '../../errors.ts'
import { withoutBudget } from '../../platform/access/budget.ts'
import type { Context } from '../../platform/access/context.ts'
import { turnOf } from '../../platform/http/limits.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { isAmongHosted } from '../../platform/pub/hosted-url.ts'
import { isUpstreamName } from '../../platform/pub/package-name.ts'
import { compareParsed, isPrerelease, known } from '../../platform/pub/version.ts'
import { createFairLimiter, type FairLimiter } from '../../platform/threads/fair-limiter.ts'
import { isExcluded, packageState, requireMirror } from '../mirror/access.ts'
import type { Verdict } from '../mirror/policies/evaluate.ts'
import { policyRules } from '../mirror/policies/settings.ts'
import { mirrorIsOff } from '../mirror/policies/service.ts'
import { findVersion, blockOf, policiesOf, rejectingVerdict, versionsIn } from '../mirror/render.ts'
import { type Judged, storedListing } from '../mirror/judged.ts'
import { admittedPackage, currentListing } from '../mirror/requested.ts'
import { formerAddresses } from '../packages/hosting.ts'
import type { LockedPackage } from './lock-file.ts'
import { readInThread } from './service.ts'

/**
 * What clients get of a version in a lock file. `retracted`: a policy marks it as retracted, so that lock files which have it keep working. `refused`:
 * it cannot be downloaded. `unknown`: it is not known whether a policy applies, or there is no such version.
 */
export const lockStates = ['refused', 'retracted', 'unknown', 'allowed'] as const
export type LockState = (typeof lockStates)[number]

/** A later version that clients do not get, and the enforced policies against it. */
export type LaterVersion = { version: string; verdicts: Verdict[] }

/** A package of the upstream server in a lock file. */
export type MirrorLocked = Pick<LockedPackage, 'name' | 'version' | 'reason'> & {
  state: LockState
  /** The enforced policies that hold the version back. */
  verdicts: Verdict[]
  /** Why the version is unknown, or rejected without a policy. */
  message: string | null
  /** The highest version, if it is later than the locked one and a policy holds it back; otherwise null. */
  later: LaterVersion | null
}

/** Packages of the upstream server, held back ones first. Other packages are only counted. */
export type MirrorCheck = { packages: MirrorLocked[]; elsewhere: number; otherSources: number }

/** Maximum number of packages of the upstream server in a lock file. */
export const maxMirrored = 1000

/** Number of packages that one check reads at a time. */
const atOnce = 8

declare module '../../services.ts' {
  interface State {
    mirrorCheckTurns?: FairLimiter
  }
}

const turnsOf = ({ state }: Context): FairLimiter =>
  (state.mirrorCheckTurns ??= createFairLimiter({
    atOnce: 4,
    waiting: 100,
    waitingPerKey: 10,
    rejection: () => serviceUnavailable('Too many lock files are being checked. Try again in a moment.', 5),
  }))

/**
 * Checks which packages of a pubspec.lock a policy of the mirror holds back. Neither stores the text nor records decisions. For anonymous callers of an
 * open mirror, only listings in the mirror are read: names of this server look like packages that are not in the mirror.
 * @throws ApiError if the caller may not read the mirror; NotFound without a mirror; InvalidInput if the text is not a pubspec.lock; ServiceUnavailable when too
 * many files are waiting.
 */
export async function checkMirrored(context: Context, text: string): Promise<MirrorCheck> {
  const { config } = context
  if (config.UPSTREAM_URL === undefined) throw mirrorIsOff()
  requireMirror(context)
  context.budget?.spendText(Buffer.byteLength(text))
  const { hosted, otherSources } = await readInThread(context, text)
  const urls = [config.UPSTREAM_URL, ...(await mirrorUrls(context))]
  const mirrored = hosted.filter(({ hostedUrl }) => isAmongHosted(urls, hostedUrl))
  if (mirrored.length > maxMirrored)
    throw invalidInput(`The file has ${mirrored.length} packages of the mirror, and at most ${maxMirrored} can be checked.`, 'lock')
  context.budget?.spendObjects(mirrored.length)
  const packages = await withoutBudget(context, () => turnsOf(context)(turnOf(context), () => checkAll(context, mirrored)))
  packages.sort((a, b) => lockStates.indexOf(a.state) - lockStates.indexOf(b.state) || (a.name < b.name ? -1 : 1))
  return { packages, elsewhere: hosted.length - mirrored.length, otherSources }
}

/** Hosted URLs of the mirror: with the current address, as the client sees it, and with former ones. */
const mirrorUrls = async ({ config, request, database }: Context): Promise<string[]> =>
  [config.SERVER_URL, publicUrl(request, config.SERVER_URL), ...(await formerAddresses(database.reads, config))].map(
    (url) => `${url}/mirror`,
  )

async function checkAll(context: Context, mirrored: readonly LockedPackage[]): Promise<MirrorLocked[]> {
  const results: MirrorLocked[] = []
  const reader: Reader = { context, isUpstreamAway: false }
  const left = mirrored.values()
  const work = async () => {
    for (const { name, version, reason } of left) results.push({ name, version, reason, ...(await check(reader, name, version)) })
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return results
}

/** Once the upstream server does not answer, only listings in the mirror are read, so that a check does not wait for each package. */
type Reader = { context: Context; isUpstreamAway: boolean }
type Result = Pick<MirrorLocked, 'state' | 'verdicts' | 'message' | 'later'>

const without = (state: LockState, message: string | null): Result => ({ state, verdicts: [], message, later: null })
const notMirrored = () => without('unknown', 'It is not in the mirror yet. Policies are applied when a client reads it.')

async function check(reader: Reader, name: string, version: string): Promise<Result> {
  try {
    const read = reader.context.viewer ? await readForCaller(reader, name, version) : await readStored(reader.context, name)
    if (read === 'no policies') return without('allowed', null)
    return read ? await judged(read, version) : notMirrored()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 503 || error.status === 429) reader.isUpstreamAway = true
    if (!reader.context.viewer) return notMirrored()
    return without(error.status === 403 ? 'refused' : 'unknown', error.message)
  }
}

/** Returns the listing for a signed-in caller; null if it is not in the mirror and the upstream server does not answer. @throws ApiError */
async function readForCaller(reader: Reader, name: string, version: string): Promise<Judged | 'no policies' | null> {
  const { context } = reader
  const { state } = await admittedPackage(context, name, version)
  const policies = policiesOf(state.policies)
  if (policyRules.every((rule) => policies[rule].mode !== 'enforce')) return 'no policies'
  return reader.isUpstreamAway ? storedListing(context, name, state) : (await currentListing(context, name, state)).listing
}

/** Returns the listing for an anonymous caller; null if it is not in the mirror, or if the name belongs to this server. */
async function readStored(context: Context, name: string): Promise<Judged | null> {
  if (!isUpstreamName(name)) return null
  const state = await packageState(context, name)
  return state.isOwn || isExcluded(context.config, name) ? null : storedListing(context, name, state)
}

async function judged(listing: Judged, version: string): Promise<Result> {
  const verdicts = await enforced(listing, version)
  const later = await laterVersion(listing, version)
  if (rejectingVerdict(verdicts)) return { state: 'refused', verdicts, message: null, later }
  if (verdicts.length > 0) return { state: 'retracted', verdicts, message: null, later }
  const isKnown = !listing.isEnforced || versionsIn(listing.index).some((one) => one.version === version)
  return isKnown
    ? { state: 'allowed', verdicts, message: null, later }
    : { state: 'unknown', verdicts, message: 'The mirror knows no such version.', later }
}

const enforced = async (listing: Judged, version: string): Promise<Verdict[]> =>
  (blockOf(listing.index, version)?.hasVerdicts ? ((await findVersion(listing, version))?.verdicts ?? []) : []).filter(
    ({ mode }) => mode === 'enforce',
  )

/**
 * Returns the highest version if it is later than the locked one and held back. Pre-releases count only if the locked version is one. Listings are in
 * ascending order.
 */
async function laterVersion(listing: Judged, version: string): Promise<LaterVersion | null> {
  if (!listing.isEnforced) return null
  const highest = versionsIn(listing.index).findLast((one) => isPrerelease(version) || !isPrerelease(one.version))?.version
  if (highest === undefined || compareParsed(known(highest), known(version)) <= 0) return null
  const verdicts = await enforced(listing, highest)
  return verdicts.length > 0 ? { version: highest, verdicts } : null
}
