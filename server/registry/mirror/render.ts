import { promisify } from 'node:util'
import { gunzip, gzipSync } from 'node:zlib'
import { inOwnMemory } from '../../platform/caches/retained-bytes.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import { writeEntry, listingEtag, writeListing } from '../../platform/pub/listing.ts'
import { isUpstreamName } from '../../platform/pub/package-name.ts'
import { known } from '../../platform/pub/version.ts'
import { type ForeignAdvisories, type ForeignDocument, parseForeignAdvisories } from '../advisories/foreign.ts'
import { affectedAmong, affectedPackages, affectedVersions, fixedVersions, type Osv } from '../advisories/osv.ts'
import { severityOf } from '../advisories/severity.ts'
import { latestOf } from '../packages/versions/latest.ts'
import { isAdvised, type MirroredListing, type MirroredVersion } from './listing.ts'
import { judge, needsAdvisories, type Verdict } from './policies/evaluate.ts'
import { type MirrorPolicies, mirrorPolicies, policyRules } from './policies/settings.ts'

// Judging runs in a worker thread (worker.ts). Requests read single versions of the result.

/** A version with what the policies say about it. */
export type JudgedVersion = MirroredVersion & { verdicts: Verdict[] }

type Asked = {
  listing: MirroredListing
  /** Advisories as the upstream server sent them; null if they are unknown, or if the upstream server does not have them (`isWithoutAdvisories`). */
  advisories: ForeignDocument | null
  isWithoutAdvisories: boolean
  /** Tags of the upstream score, or null if they are unknown. */
  tags: string[] | null
  /** Text of the policies. */
  policies: string | null
  serverUrl: string
  now: Date
}

export const policiesOf = (text: string | null): MirrorPolicies =>
  text === null ? mirrorPolicies.initial : mirrorPolicies.schema.parse(JSON.parse(text))

/** Judges a listing. Returns it as clients get it, and its versions in a form of which a single one can be read (`packVersions`). */
export function renderListing({ listing, tags, serverUrl, now, ...asked }: Asked) {
  const policies = policiesOf(asked.policies)
  const { advisories, problem } = needsAdvisories(policies) && isAdvised(listing) ? advisoriesAbout(listing, asked) : noAdvisories
  const { verdicts, changesAt } = judge(policies, listing, { advisories, unreadable: problem, tags }, now)
  const shown = usableVersions(listing, verdicts)
  const usable = latestOf(shown)
  const entries = new Map(shown.map((version) => [version, entryOf(version, listing.name, serverUrl)]))
  const text = writeListing(listing, [...entries.values()], usable && !usable.retracted ? entries.get(usable) : undefined)
  const { name, isDiscontinued, replacedBy, advisoriesUpdated, versions } = listing
  return {
    name,
    isDiscontinued,
    replacedBy,
    advisoriesUpdated,
    isAdvised: isAdvised(listing),
    advisoriesFault: problem === null ? null : unreadableFault(name, problem),
    changesAt,
    etag: listingEtag(text),
    gzipped: inOwnMemory(gzipSync(text)),
    isEnforced: policyRules.some((rule) => policies[rule].mode === 'enforce'),
    refusal: shown.length > 0 ? null : (versions.flatMap(({ version }) => rejectingVerdict(verdicts.get(version)) ?? []).at(-1) ?? null),
    latest: usable?.version ?? null,
    newest: latestOf(versions)?.version ?? null,
    ...packVersions(versions.map((version): JudgedVersion => ({ ...version, verdicts: verdicts.get(version.version) ?? [] }))),
  }
}

/** Characters of JSON in a block of versions. Smaller blocks are faster to read and compress less well. */
const blockLength = 16 * 1024

/**
 * Packs versions into compressed blocks. `index` has a line for each version, between line breaks: the version, its block, and `!` if there are
 * verdicts. `offsets`: where each block begins in `packed`, and where the last one ends.
 */
function packVersions(versions: readonly JudgedVersion[]) {
  const blocks: Buffer[] = []
  const offsets = [0]
  const lines: string[] = []
  let block: string[] = []
  let length = 0
  function endBlock(): void {
    const packed = gzipSync(`[${block.join(',')}]`)
    blocks.push(packed)
    offsets.push((offsets.at(-1) ?? 0) + packed.length)
    block = []
    length = 0
  }
  for (const version of versions) {
    const text = JSON.stringify(version)
    lines.push(`${version.version} ${blocks.length}${version.verdicts.length > 0 ? '!' : ''}`)
    length += block.push(text) && text.length
    if (length >= blockLength) endBlock()
  }
  if (block.length > 0) endBlock()
  return { index: `\n${lines.join('\n')}\n`, packed: inOwnMemory(Buffer.concat(blocks)), offsets }
}

/** Versions as `packVersions` returns them. */
export type Pack = { index: string; packed: Buffer; offsets: number[] }

/** Returns the block of a version, and whether there are verdicts; null if the index does not have the version. */
export function blockOf(index: string, version: string): { number: number; hasVerdicts: boolean } | null {
  const at = index.indexOf(`\n${version} `)
  if (at < 0) return null
  const end = index.indexOf('\n', at + 1)
  const hasVerdicts = index[end - 1] === '!'
  return { number: Number(index.slice(at + version.length + 2, hasVerdicts ? end - 1 : end)), hasVerdicts }
}

/** Returns all versions in ascending order, each with its block. */
export const versionsIn = (index: string): { version: string; block: number }[] =>
  index
    .slice(1, -1)
    .split('\n')
    .map((line) => {
      const [version = '', block = ''] = line.split(' ')
      return { version, block: Number.parseInt(block, 10) }
    })

/** Reads a block of versions. */
export async function readBlock({ packed, offsets }: Pack, number: number): Promise<JudgedVersion[]> {
  const block = await promisify<Buffer, Buffer>(gunzip)(packed.subarray(offsets[number], offsets[number + 1]))
  const versions = JSON.parse(block.toString('utf8')) as (Omit<JudgedVersion, 'verdicts'> & {
    verdicts: (Omit<Verdict, 'until'> & { until: string | null })[]
  })[]
  return versions.map(({ verdicts, ...version }) => ({
    ...version,
    verdicts: verdicts.map((one) => ({ ...one, until: one.until === null ? null : new Date(one.until) })),
  }))
}

/** Returns a version after the policies, or null if the listing does not have it. */
export async function findVersion(listing: Pack, version: string): Promise<JudgedVersion | null> {
  const block = blockOf(listing.index, version)
  if (!block) return null
  return (await readBlock(listing, block.number)).find((one) => one.version === version) ?? null
}

/** Maximum number of comparisons of a version with an event of an advisory. Packages of pub.dev need less than a hundredth of it. */
const maxComparisons = 5_000_000

const noAdvisories: ForeignAdvisories = { advisories: [], problem: null }

function advisoriesAbout({ name, versions }: MirroredListing, asked: Pick<Asked, 'advisories' | 'isWithoutAdvisories'>): ForeignAdvisories {
  if (asked.advisories) return boundedAdvisories(name, versions.length, asked.advisories)
  if (!asked.isWithoutAdvisories) return noAdvisories
  return { advisories: [], problem: 'the listing announces them, and the upstream server does not have them' }
}

/** Returns the advisories that can be read, and compared with all versions of a package in a bounded time, or why they cannot. */
function boundedAdvisories(name: string, versions: number, document: ForeignDocument): ForeignAdvisories {
  const found = parseForeignAdvisories(document, name)
  const ranges = found.advisories.flatMap((osv) => entriesAbout(osv, name)).flatMap((entry) => entry.ranges ?? [])
  const events = ranges.reduce((sum, range) => sum + (range.type === 'GIT' ? 0 : range.events.length), found.advisories.length)
  if (versions * events <= maxComparisons) return found
  return { advisories: [], problem: `they are too many to compare them with ${versions} versions` }
}

/** Returns the fault of advisories that cannot be read. */
export const unreadableFault = (name: string, problem: string): string => `The advisories about ${name} cannot be read: ${problem}.`

const entriesAbout = (osv: Osv, name: string) => affectedPackages(osv).filter((entry) => entry.package.name === name)

/** Returns the versions without rejected ones. Versions that new resolutions must not choose are marked as retracted. */
function usableVersions(listing: MirroredListing, verdicts: ReadonlyMap<string, Verdict[]>): MirroredVersion[] {
  return listing.versions.flatMap((version) => {
    const enforced = (verdicts.get(version.version) ?? []).filter(({ mode }) => mode === 'enforce')
    if (enforced.some(({ effect }) => effect === 'refuse')) return []
    return [enforced.length > 0 ? { ...version, retracted: true } : version]
  })
}

/** Returns the enforced rejection among verdicts, or null. */
export const rejectingVerdict = (verdicts: Verdict[] | undefined): Verdict | null =>
  verdicts?.find(({ mode, effect }) => mode === 'enforce' && effect === 'refuse') ?? null

/** Returns a version as listings show it, as JSON text. */
export const entryOf = ({ pubspec, ...version }: MirroredVersion, name: string, serverUrl: string): string =>
  writeEntry({ ...version, pubspec: JSON.stringify(pubspec) }, name, `${serverUrl}/mirror`)

/** Maximum number of advisories that are described, and of versions of each. */
const [maxDescribed, maxAffected, maxFixed] = [50, 500, 50]

type Described = { name: string; advisories: ForeignDocument; versions: string[]; latest: string | null }

/** Describes the advisories that are not withdrawn. @throws NotFetched if none can be read. */
export function describeAdvisories({ name, advisories: sent, versions, latest }: Described) {
  const { advisories, problem } = boundedAdvisories(name, versions.length, sent)
  if (advisories.length === 0 && problem !== null) throw new NotFetched(unreadableFault(name, problem))
  const ordered = versions.map(known)
  return advisories
    .filter(({ withdrawn }) => withdrawn === undefined)
    .slice(0, maxDescribed)
    .map((osv) => {
      const entries = entriesAbout(osv, name)
      const affected = affectedAmong(entries, ordered)
      return {
        osvId: osv.id,
        summary: osv.summary?.slice(0, 500) ?? null,
        severity: severityOf(osv),
        url: osv.database_specific?.pub_display_url ?? osv.references?.[0]?.url ?? null,
        affectsLatest: latest !== null && affected.has(latest),
        affectedVersions: affectedVersions(entries, versions.filter((version) => affected.has(version)).slice(-maxAffected)).slice(
          -maxAffected,
        ),
        fixedVersions: fixedVersions(entries).slice(-maxFixed),
      }
    })
}

/** Maximum number of names of upstream packages. pub.dev has fewer. */
const maxNames = 200_000

/** Returns the names in a document for completion, each between line breaks. */
export function namesIn(document: string): string {
  const { packages } = JSON.parse(document) as { packages?: unknown }
  const names = Array.isArray(packages) ? packages.filter((name) => typeof name === 'string' && isUpstreamName(name)) : []
  return `\n${names.slice(0, maxNames).join('\n')}\n`
}
