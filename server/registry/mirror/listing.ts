import { z } from 'zod'
import { type JsonSize, omitLargeParts } from '../../platform/http/json-size.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import { isUpstreamName } from '../../platform/pub/package-name.ts'
import { compareParsed, known, parseVersion } from '../../platform/pub/version.ts'
import { type Age, ageOf, type History, moment, readDate } from './ages.ts'
import type { MirrorKind } from './entity.ts'

/** A version in a mirrored listing. */
export type MirroredVersion = {
  version: string
  retracted: boolean
  /** Address of the archive on the upstream server. */
  archiveUrl: string
  /** SHA-256 in hex; null if the upstream server does not state it. */
  sha256: string | null
  pubspec: Record<string, unknown>
} & Age

/** A package of the upstream server. Versions are in ascending order. */
export type MirroredListing = {
  name: string
  isDiscontinued: boolean
  replacedBy: string | null
  advisoriesUpdated: string | null
  /** Whether the package has advisories whose date cannot be read. */
  hasUndatedAdvisories?: true
  versions: MirroredVersion[]
}

/** A fault in a document of the upstream server. */
export type ListingFault = { version: string; rule: 'listing' | 'changed_archive'; reason: string }

const versionSchema = z.object({
  version: z.string().refine((text) => parseVersion(text) !== null),
  retracted: z.boolean().nullish(),
  archive_url: z.url({ protocol: /^https?$/ }).optional(),
  archive_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i)
    .nullish(),
  published: z.unknown().optional(),
  pubspec: z.looseObject({ name: z.string(), version: z.string() }),
})

const listingSchema = z.object({
  name: z.string(),
  isDiscontinued: z.boolean().nullish(),
  replacedBy: z.string().refine(isUpstreamName).nullish().catch(null),
  advisoriesUpdated: z.unknown().optional(),
  hasUndatedAdvisories: z.literal(true).optional().catch(undefined),
  versions: z.array(z.unknown()).max(10_000),
})

/**
 * Reads a listing as the upstream server sent it. Leaves out versions that package clients could not read. Keeps the SHA-256 of versions in
 * `pinned`: published archives never change. Returns null if nothing in it is usable.
 */
export function parseListing(
  text: string,
  { name, upstreamUrl, pinned, history }: { name: string; upstreamUrl: string; pinned: ReadonlyMap<string, string>; history: History },
): { listing: MirroredListing | null; faults: ListingFault[] } {
  const parsed = listingSchema.safeParse(jsonOf(text))
  if (!parsed.success || parsed.data.name !== name)
    return {
      listing: null,
      faults: [{ version: '', rule: 'listing', reason: `The listing of ${name} is not a valid listing of this package.` }],
    }
  const faults: ListingFault[] = []
  const versions = new Map<string, MirroredVersion>()
  for (const entry of parsed.data.versions) {
    const version = versionOf(entry, { name, upstreamUrl, history })
    if (!version) {
      faults.push({ version: '', rule: 'listing', reason: `The listing of ${name} has a version that package clients cannot read.` })
      continue
    }
    const pin = pinned.get(version.version)
    if (pin && version.sha256 !== null && version.sha256 !== pin) {
      const reason = `The archive of ${name} ${version.version} was replaced on the upstream server: its SHA-256 was ${pin} and is now ${version.sha256}.`
      faults.push({ version: version.version, rule: 'changed_archive', reason })
    }
    versions.set(version.version, pin ? { ...version, sha256: pin } : version)
  }
  const sorted = [...versions.values()].sort((a, b) => compareParsed(known(a.version), known(b.version)))
  const { isDiscontinued, replacedBy, advisoriesUpdated: updated, hasUndatedAdvisories } = parsed.data
  const advisoriesUpdated = moment.safeParse(updated).data ?? readDate(updated, history.now)?.at.toISOString() ?? null
  const listing: MirroredListing = {
    name,
    isDiscontinued: isDiscontinued ?? false,
    replacedBy: replacedBy ?? null,
    advisoriesUpdated,
    ...(((updated != null && advisoriesUpdated === null) || hasUndatedAdvisories) && { hasUndatedAdvisories: true }),
    versions: sorted,
  }
  return { listing: sorted.length > 0 ? listing : null, faults: onePerReason(faults).slice(0, maxFaults) }
}

/** Whether the upstream server has advisories about a package. */
export const isAdvised = ({
  advisoriesUpdated,
  hasUndatedAdvisories,
}: Pick<MirroredListing, 'advisoriesUpdated' | 'hasUndatedAdvisories'>): boolean =>
  advisoriesUpdated !== null || hasUndatedAdvisories === true

/** Returns the SHA-256 of each archive in the text of a stored listing, by version. */
export function hashesIn(listing: string | null): Map<string, string> {
  const { versions } = listing === null ? { versions: [] } : (JSON.parse(listing) as MirroredListing)
  return new Map(versions.flatMap(({ version, sha256 }) => (sha256 === null ? [] : [[version, sha256]])))
}

type Source = { name: string; upstreamUrl: string; history: History }

function versionOf(entry: unknown, { name, upstreamUrl, history }: Source): MirroredVersion | null {
  const parsed = versionSchema.safeParse(entry)
  if (!parsed.success) return null
  const { version, retracted, archive_url, archive_sha256, published, pubspec } = parsed.data
  if (pubspec.name !== name || pubspec.version !== version || !isShallow(pubspec)) return null
  return {
    version,
    retracted: retracted ?? false,
    pubspec,
    archiveUrl: archive_url ?? `${upstreamUrl}/api/archives/${name}-${version}.tar.gz`,
    sha256: archive_sha256?.toLowerCase() ?? null,
    ...ageOf(published, history.versions.get(version), history),
  }
}

/** Deeper than any pubspec or advisory. Much deeper values overflow the stack of this server and of clients. */
const maxDepth = 64

/** Returns whether a JSON value is nested at most 64 levels deep. */
const isShallow = (value: unknown, levels = maxDepth): boolean =>
  typeof value !== 'object' || value === null || (levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1)))

/** Maximum number of faults that are reported for a listing. */
const maxFaults = 20

const onePerReason = (faults: ListingFault[]): ListingFault[] => [...new Map(faults.map((fault) => [fault.reason, fault])).values()]

/** Returns a JSON value, or undefined for an invalid text. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the text of a document other than a listing as it is stored. @throws NotFetched if it is unusable. */
export const checkedDocument = (kind: Exclude<MirrorKind, 'archive' | 'listing'>, text: string, now: Date): string =>
  kind === 'advisories' ? checkedAdvisories(text, now) : checkedJson(text)

function checkedJson(text: string): string {
  const document = jsonOf(text)
  if (!z.looseObject({}).safeParse(document).success) throw new NotFetched('the answer is not a JSON object')
  if (!isShallow(document)) throw new NotFetched('the answer is nested too deep')
  return text
}

const advisoriesSchema = z.looseObject({ advisories: z.array(z.unknown()).catch([]), advisoriesUpdated: z.unknown().optional() })
const isAdvisory = (one: unknown) => z.looseObject({ id: z.string() }).safeParse(one).success

/**
 * Returns a list of advisories that clients accept: with a date, of which pub.dev sends null if it has none, and without what is not an advisory.
 * The member `unreadable` then names what was left out.
 */
function checkedAdvisories(text: string, now: Date): string {
  const sent: unknown = JSON.parse(checkedJson(text))
  const { advisoriesUpdated, ...document } = advisoriesSchema.parse(sent)
  const advisories = document.advisories.filter(isAdvisory)
  const isList = Array.isArray((sent as { advisories?: unknown }).advisories)
  const isComplete = isList && advisories.length === document.advisories.length
  const date = z.iso.datetime({ offset: true }).safeParse(advisoriesUpdated).data
  if (date !== undefined && isComplete) return text
  const unreadable = isList ? 'an entry is not an advisory with an id' : 'the answer is not a list of advisories'
  return JSON.stringify({ ...document, advisories, advisoriesUpdated: date ?? now.toISOString(), ...(!isComplete && { unreadable }) })
}

const [kilobyte, megabyte] = [1024, 1024 ** 2]

/** Limits of documents, uncompressed. Documents of pub.dev are far smaller: its largest listings have a few MB, and its pubspecs at most 128 KiB. */
export const documentLimits: Record<Exclude<MirrorKind, 'archive'>, JsonSize> = {
  listing: { bytes: 16 * megabyte, values: 1_000_000 },
  names: { bytes: 16 * megabyte, values: 400_000 },
  advisories: { bytes: 4 * megabyte, values: 200_000 },
  score: { bytes: megabyte, values: 10_000 },
  options: { bytes: megabyte, values: 10_000 },
  publisher: { bytes: megabyte, values: 10_000 },
  attestation: { bytes: megabyte, values: 10_000 },
}
/** Larger versions of a listing are left out. */
const largestVersion: JsonSize = { bytes: 256 * kilobyte, values: 10_000 }
const unlimited: JsonSize = { bytes: Infinity, values: Infinity }
/** Maximum number of advisories of a package. */
const maxAdvisories = 1000

/**
 * Decodes a document of the upstream server after checking its size, so that parsing it takes a bounded time. Versions of a listing that are too large
 * are replaced with null: `omitted` is their number. Changes the bytes.
 * @throws NotFetched if the document is too large.
 */
export function limitedText(kind: Exclude<MirrorKind, 'archive'>, document: Buffer): { text: string; omitted: number } {
  const { parts, omitted } = requireSize(kind, document, kind === 'listing' ? largestVersion : unlimited)
  if (kind === 'advisories' && parts > maxAdvisories) throw new NotFetched(`the document has more than ${maxAdvisories} advisories`)
  return { text: document.toString('utf8'), omitted }
}

/**
 * Decodes a stored document, as `limitedText`. Stored listings can be larger than what the upstream server sent, because nothing is omitted in them.
 * @throws NotFetched if an earlier release stored one that is too large.
 */
export function storedText(kind: Exclude<MirrorKind, 'archive'>, document: Buffer): string {
  requireSize(kind, document, unlimited, 2)
  return document.toString('utf8')
}

function requireSize(kind: Exclude<MirrorKind, 'archive'>, document: Buffer, largestPart: JsonSize, times = 1) {
  const [maxBytes, maxValues] = [documentLimits[kind].bytes * times, documentLimits[kind].values * times]
  if (document.length > maxBytes) throw new NotFetched(`the document has more than ${maxBytes} bytes`)
  const size = omitLargeParts(document, largestPart)
  if (size.values > maxValues) throw new NotFetched(`the document has more than ${maxValues} values`)
  return size
}

/** Returns the fault of a listing from which versions were left out because of their size. */
export const omittedFault = (name: string, omitted: number): ListingFault[] =>
  omitted === 0
    ? []
    : [
        {
          version: '',
          rule: 'listing',
          reason: `The listing of ${name} has ${omitted === 1 ? 'a version' : `${omitted} versions`} with more than ${largestVersion.values} values or ${largestVersion.bytes} bytes, left out.`,
        },
      ]
