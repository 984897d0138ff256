import { z } from 'zod'
import { serviceUnavailable } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import type { PackageState } from './access.ts'
import { reportFaults } from './decisions.ts'
import { documentState, isOlder, readDocument } from './documents.ts'
import { storedDocument } from './entries.ts'
import { callerOf } from './limits.ts'
import { needsAdvisories, needsTags } from './policies/evaluate.ts'
import { type MirrorPolicies, policyRules } from './policies/settings.ts'
import { policiesOf } from './render.ts'
import { bytes, inThread } from './threads.ts'

const text = z.string()
const verdict = z.object({
  rule: z.enum(policyRules),
  mode: z.enum(['audit', 'enforce']),
  effect: z.enum(['retract', 'refuse']),
  reason: text,
  until: z.date().nullable(),
})
/** What `renderListing` returns. */
const answer = z.object({
  name: text,
  isDiscontinued: z.boolean(),
  replacedBy: text.nullable(),
  advisoriesUpdated: text.nullable(),
  isAdvised: z.boolean(),
  advisoriesFault: text.nullable(),
  changesAt: z.date().nullable(),
  etag: text,
  gzipped: bytes,
  isEnforced: z.boolean(),
  refusal: verdict.nullable(),
  latest: text.nullable(),
  newest: text.nullable(),
  index: text,
  packed: bytes,
  offsets: z.array(z.number()),
})

/** In place of a hash: the upstream server does not have the document. */
const absent = 'absent'

/** What a listing is made from: the hashes of documents (null: not needed or unknown), and the text of the policies. */
type Inputs = { sha256: string; advisories: string | null; score: string | null; policies: string | null }

/**
 * A listing of the mirror as clients get it, after the policies, which may change it at `changesAt`. `index`, `packed` and `offsets` contain its versions,
 * also refused ones. `advisoriesFault`: why some of its advisories cannot be applied. `refusal`: why the package has no usable version.
 */
export type Judged = z.infer<typeof answer> & { inputs: Inputs }

declare module '../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Listings of the mirror by name and server URL. */
    mirror: Judged
  }
}
declare module '../../services.ts' {
  interface State {
    /** Parsed policies and the text from which they were parsed. */
    mirrorPolicies?: { source: string | null; policies: MirrorPolicies }
    /** Listings that are being judged, by their inputs. */
    mirrorJudging?: Map<string, Promise<Judged | null>>
  }
}

/** Parses the policies, once for the same text. */
function knownPolicies({ state }: Pick<Context, 'state'>, source: string | null): MirrorPolicies {
  if (state.mirrorPolicies?.source !== source) state.mirrorPolicies = { source, policies: policiesOf(source) }
  return state.mirrorPolicies.policies
}

/** Whether any policy could reject something. */
export const hasPolicies = (context: Pick<Context, 'state'>, source: string | null): boolean =>
  source !== null && policyRules.some((rule) => knownPolicies(context, source)[rule].mode !== 'off')

function storedInputs(context: Context, sha256: string, { policies, advisories, score }: PackageState): Inputs {
  const rules = knownPolicies(context, policies)
  return {
    sha256,
    policies,
    advisories: needsAdvisories(rules) ? advisories.sha256 : null,
    score: needsTags(rules) ? score.sha256 : null,
  }
}

/**
 * Returns a listing after the policies without asking the upstream server. Returns null if the mirror does not have it, or does not have advisories that
 * must be enforced. @throws ApiError ServiceUnavailable
 */
export async function storedListing(context: Context, name: string, state: PackageState): Promise<Judged | null> {
  if (state.sha256 === null) return null
  const listing = await judge(context, name, storedInputs(context, state.sha256, state))
  const isEnforced = knownPolicies(context, state.policies).advisories.mode === 'enforce'
  return listing?.isAdvised && isEnforced && state.advisories.checkedAt === null ? null : listing
}

/** Returns a stored listing after the policies; null if it is not in the store. @throws ApiError ServiceUnavailable */
export async function judgedListing(context: Context, name: string, sha256: string, state: PackageState): Promise<Judged | null> {
  const policies = knownPolicies(context, state.policies)
  const [usesAdvisories, usesTags] = [needsAdvisories(policies), needsTags(policies)]
  const known = storedInputs(context, sha256, state)
  let listing = await judge(context, name, known)
  if (!listing || (!usesAdvisories && !usesTags)) return listing
  const advisories = usesAdvisories ? await currentAdvisories(context, listing, state, policies) : null
  const score = usesTags ? await currentScore(context, name, state) : null
  if (advisories !== known.advisories || score !== known.score) listing = await judge(context, name, { ...known, advisories, score })
  return listing
}

/**
 * Returns the hash of the current advisories, null without any, or `absent`. Without an answer of the upstream server, older ones are used.
 * @throws ApiError ServiceUnavailable if advisories that must be enforced are unknown.
 */
async function currentAdvisories(context: Context, listing: Judged, { advisories: row }: PackageState, policies: MirrorPolicies) {
  const { name, isAdvised } = listing
  if (!isAdvised) return null
  const newerThan = advisoriesDate(context, listing)
  const isCurrent = row.checkedAt && (newerThan === undefined || row.checkedAt >= newerThan) && !isOlder(context, 'advisories', row)
  if (isCurrent) return row.sha256 ?? absent
  try {
    return (await documentState(context, 'advisories', name, { newerThan, caller: callerOf(context), isFact: true }))?.sha256 ?? absent
  } catch (error) {
    if (policies.advisories.mode === 'enforce') throw error
    return null
  }
}

/** Returns when the advisories of a package changed according to its listing; undefined without a date. */
export function advisoriesDate({ now }: Pick<Context, 'now'>, { advisoriesUpdated }: Pick<Judged, 'advisoriesUpdated'>): Date | undefined {
  return advisoriesUpdated === null ? undefined : new Date(Math.min(Date.parse(advisoriesUpdated), now().getTime()))
}

/** Returns the hash of the current score, which has the license and the publisher, or null if it is unknown. */
async function currentScore(context: Context, name: string, { score: row }: PackageState): Promise<string | null> {
  if (row.checkedAt && !isOlder(context, 'score', row)) return row.sha256
  const found = await documentState(context, 'score', name, { caller: callerOf(context), isFact: true }).catch(() => null)
  return found?.sha256 ?? null
}

/** Judges a listing in a thread, unless the cache has the result for the same inputs. Null if the listing is not in the store. */
async function judge(context: Context, name: string, inputs: Inputs): Promise<Judged | null> {
  const { caches, now, state } = context
  const serverUrl = publicUrl(context.request, context.config.SERVER_URL)
  const cacheKey = `${serverUrl} ${name}`
  const cached = caches.mirror.get(cacheKey)
  if (cached && isFrom(cached, inputs) && (cached.changesAt === null || now() < cached.changesAt)) return cached
  const judging = (state.mirrorJudging ??= new Map<string, Promise<Judged | null>>())
  const id = JSON.stringify([cacheKey, inputs])
  let current = judging.get(id)
  if (!current) {
    current = judgeInThread(context, name, inputs, serverUrl).finally(() => judging.delete(id))
    judging.set(id, current)
  }
  const judged = await current
  if (judged) caches.mirror.set(cacheKey, judged)
  return judged
}

/** Whether a listing was made from these inputs. */
const isFrom = ({ inputs: { advisories, ...of }, isAdvised }: Judged, inputs: Inputs): boolean =>
  of.sha256 === inputs.sha256 &&
  of.policies === inputs.policies &&
  of.score === inputs.score &&
  (advisories === inputs.advisories || !isAdvised)

async function judgeInThread(context: Context, name: string, inputs: Inputs, serverUrl: string): Promise<Judged | null> {
  const listing = await storedDocument(context, inputs.sha256)
  if (!listing) return null
  const isWithoutAdvisories = inputs.advisories === absent
  const advisories = isWithoutAdvisories ? null : await factDocument(context, 'advisories', name, inputs.advisories)
  const score = await factDocument(context, 'score', name, inputs.score)
  const documents = { listing, advisories, isWithoutAdvisories, score }
  const task = { task: 'render', ...documents, policies: inputs.policies, serverUrl, now: context.now() } as const
  try {
    const judged = await inThread(context, callerOf(context), answer, task)
    if (judged.advisoriesFault) reportFaults(context, name, [{ version: '', rule: 'advisories', reason: judged.advisoriesFault }])
    return { ...judged, inputs }
  } catch (error) {
    if (!(error instanceof NotFetched)) throw error
    const reason = `The listing of ${name} cannot be used: ${error.message}.`
    reportFaults(context, name, [{ version: '', rule: 'listing', reason }])
    throw serviceUnavailable(reason, 60)
  }
}

/** Returns a document on which policies depend. One that is gone from the store is fetched again. */
async function factDocument(context: Context, kind: 'advisories' | 'score', name: string, sha256: string | null): Promise<Buffer | null> {
  if (sha256 === null) return null
  return (
    (await storedDocument(context, sha256)) ??
    (await readDocument(context, kind, name, { caller: callerOf(context), isFact: true }))?.packed ??
    null
  )
}
