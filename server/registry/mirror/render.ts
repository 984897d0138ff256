import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { inOwnMemory } from '../../platform/caches/retained-bytes.ts'
import { archiveUrl } from '../../platform/pub/package-name.ts'
import { parseAdvisories, type Osv } from '../advisories/osv.ts'
import { latestOf } from '../packages/versions/latest.ts'
import { readDocument, storedText } from './documents.ts'
import type { MirrorServices } from './entries.ts'
import type { MirroredListing, MirroredVersion } from './listing.ts'
import { judge, needsAdvisories, needsTags, type PackageFacts, type Verdict } from './policies/evaluate.ts'
import { type MirrorPolicies, mirrorPolicies, policyRules } from './policies/settings.ts'

/** A listing of the mirror as clients get it, after the policies. */
export type Rendered = {
  /** SHA-256 of the stored listing and text of the policies from which this was made. */
  sha256: string
  policies: string | null
  /** Time in milliseconds at which the result of the policies may change. */
  validUntil: number
  etag: string
  gzipped: Buffer
  /** Verdicts by version; versions without verdicts are missing. */
  verdicts: Map<string, Verdict[]>
  /** All versions of the stored listing if a policy is enforced, otherwise null. */
  versions: string[] | null
  /** Why the package has no usable version, or null. */
  refusal: Verdict | null
}

declare module '../../platform/caches/caches.ts' {
  interface CachedValues {
    /** Listings of the mirror by name and server URL. */
    mirror: Rendered
  }
}

type Asked = { name: string; sha256: string; policies: string | null; serverUrl: string }

/** How long the license and publisher of a package are considered current, in milliseconds. */
const tagsMs = 3_600_000
/** How long a result is used for which the upstream server did not send everything, in milliseconds. */
const incompleteMs = 10_000

/** Returns the listing of a package after the policies, from the cache if its inputs are the same. Null if the file is not in the store. */
export async function rendered(services: MirrorServices, asked: Asked): Promise<Rendered | null> {
  const { mirror } = services.caches
  const cacheKey = `${asked.serverUrl} ${asked.name}`
  const cached = mirror.get(cacheKey)
  if (cached?.sha256 === asked.sha256 && cached.policies === asked.policies && services.now().getTime() < cached.validUntil) return cached
  const text = await storedText(services, asked.sha256)
  if (text === null) return null
  const result = await render(services, JSON.parse(text) as MirroredListing, asked)
  mirror.set(cacheKey, result)
  return result
}

export const policiesOf = (text: string | null): MirrorPolicies =>
  text === null ? mirrorPolicies.initial : mirrorPolicies.schema.parse(JSON.parse(text))

async function render(services: MirrorServices, listing: MirroredListing, asked: Asked): Promise<Rendered> {
  const policies = policiesOf(asked.policies)
  const { isComplete, ...facts } = await factsOf(services, listing, policies)
  const now = services.now()
  const { verdicts, changesAt } = judge(policies, listing, facts, now)
  const shown = usableVersions(listing, verdicts)
  const text = listingText(listing, shown, asked.serverUrl)
  const factsMs = isComplete ? (needsTags(policies) ? tagsMs : Infinity) : incompleteMs
  return {
    sha256: asked.sha256,
    policies: asked.policies,
    verdicts,
    versions: policyRules.some((rule) => policies[rule].mode === 'enforce') ? listing.versions.map(({ version }) => version) : null,
    validUntil: Math.min(changesAt?.getTime() ?? Infinity, now.getTime() + factsMs),
    etag: `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
    gzipped: inOwnMemory(await promisify<string, Buffer>(gzip)(text)),
    refusal: shown.length > 0 ? null : (listing.versions.flatMap(({ version }) => refusalOf(verdicts.get(version)) ?? []).at(-1) ?? null),
  }
}

/**
 * Returns what the policies need to know. Without an answer of the upstream server, older facts are used; `isComplete` is false then.
 * @throws ApiError ServiceUnavailable if advisories that must be enforced are unknown.
 */
async function factsOf(
  services: MirrorServices,
  listing: MirroredListing,
  policies: MirrorPolicies,
): Promise<PackageFacts & { isComplete: boolean }> {
  const advisories =
    needsAdvisories(policies) && listing.advisoriesUpdated !== null
      ? await readAdvisories(services, listing).catch((error: unknown) => {
          if (policies.advisories.mode === 'enforce') throw error
          return { advisories: [], isStale: true }
        })
      : { advisories: [], isStale: false }
  const tags = needsTags(policies) ? await readTags(services, listing.name) : { tags: null, isStale: false }
  return { advisories: advisories.advisories, tags: tags.tags, isComplete: !advisories.isStale && !tags.isStale }
}

/** Returns the versions without refused ones. Versions that new resolutions must not choose are marked as retracted. */
export function usableVersions(listing: MirroredListing, verdicts: Rendered['verdicts']): MirroredVersion[] {
  return listing.versions.flatMap((version) => {
    const enforced = (verdicts.get(version.version) ?? []).filter(({ mode }) => mode === 'enforce')
    if (enforced.some(({ effect }) => effect === 'refuse')) return []
    return [enforced.length > 0 ? { ...version, retracted: true } : version]
  })
}

/** Returns the enforced refusal among verdicts, or null. */
export const refusalOf = (verdicts: Verdict[] | undefined): Verdict | null =>
  verdicts?.find(({ mode, effect }) => mode === 'enforce' && effect === 'refuse') ?? null

/** Returns the advisories of a package. An unreadable document counts as none. */
export const advisoriesOf = async (services: MirrorServices, listing: MirroredListing): Promise<Osv[]> =>
  (await readAdvisories(services, listing)).advisories

type Advisories = { advisories: Osv[]; isStale: boolean }

async function readAdvisories(services: MirrorServices, { name, advisoriesUpdated }: MirroredListing): Promise<Advisories> {
  const newerThan = advisoriesUpdated === null ? undefined : earlier(new Date(advisoriesUpdated), services.now())
  const document = await readDocument(services, 'advisories', name, { newerThan })
  if (!document) return { advisories: [], isStale: false }
  const { advisories } = JSON.parse(document.text) as { advisories: unknown[] }
  const isStale = document.isStale || (newerThan !== undefined && document.checkedAt < newerThan)
  return { advisories: parsedAdvisories(advisories), isStale }
}

const parsedAdvisories = (advisories: unknown[]): Osv[] =>
  advisories.flatMap((advisory) => {
    try {
      // pub.dev sends null for fields without a value.
      return parseAdvisories(JSON.stringify(advisory, (_key, value: unknown) => value ?? undefined))
    } catch {
      return []
    }
  })

const earlier = (a: Date, b: Date): Date => (a < b ? a : b)

/** Returns the upstream's tags of the latest version; null if they are unknown. */
export const tagsOf = async (services: MirrorServices, name: string): Promise<string[] | null> => (await readTags(services, name)).tags

async function readTags(services: MirrorServices, name: string): Promise<{ tags: string[] | null; isStale: boolean }> {
  const document = await readDocument(services, 'score', name).catch(() => undefined)
  const { tags } = document ? (JSON.parse(document.text) as { tags?: unknown }) : {}
  return {
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : null,
    isStale: document?.isStale ?? document === undefined,
  }
}

/** Returns the listing as JSON text. Optional members are omitted: clients reject a listing with null in them. */
function listingText(listing: MirroredListing, versions: readonly MirroredVersion[], serverUrl: string): string {
  const { name, isDiscontinued, replacedBy, advisoriesUpdated } = listing
  const latest = latestOf(versions)
  return JSON.stringify({
    name,
    ...(advisoriesUpdated !== null && { advisoriesUpdated }),
    ...(isDiscontinued && { isDiscontinued }),
    ...(isDiscontinued && replacedBy !== null && { replacedBy }),
    ...(latest && !latest.retracted && { latest: entryOf(latest, name, serverUrl) }),
    versions: versions.map((version) => entryOf(version, name, serverUrl)),
  })
}

/** Returns a version as listings show it. */
export const entryOf = ({ version, retracted, sha256, published, pubspec }: MirroredVersion, name: string, serverUrl: string) => ({
  version,
  ...(retracted && { retracted }),
  archive_url: archiveUrl(`${serverUrl}/mirror`, name, version),
  ...(sha256 !== null && { archive_sha256: sha256 }),
  pubspec,
  ...(published !== null && { published }),
})
