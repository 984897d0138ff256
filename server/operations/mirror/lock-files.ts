import { isMap, isScalar, parseDocument, type Scalar } from 'yaml'
import { invalidInput } from '../../errors.ts'
import { isAmongHosted, lockedHostedUrl } from '../../platform/pub/hosted-url.ts'
import type { MirroredListing } from '../../registry/mirror/listing.ts'
import { type LockedPackage, readLockFile } from '../../registry/upgrades/lock-file.ts'
import { type Mirror, type Note, readListing, mirrorExclusionReason } from './services.ts'

/** A lock file and its path. */
export type LockText = { path: string; text: string }

/** Reads the hosted packages of a lock file. @throws ApiError InvalidInput */
export function hostedIn({ path, text }: LockText): LockedPackage[] {
  const read = readLockFile(text)
  if ('fault' in read) throw invalidInput(`${path}: ${read.fault}`)
  return read.hosted
}

/** Hosted URL of the mirror. */
const mirrorUrl = ({ services }: Mirror): string => `${services.config.SERVER_URL}/mirror`

/** Returns whether a package of a lock file comes from the upstream server, directly or through the mirror. */
export const isFromUpstream = (mirror: Mirror, { hostedUrl }: Pick<LockedPackage, 'hostedUrl'>): boolean =>
  isAmongHosted([mirrorUrl(mirror), mirror.upstream], hostedUrl)

/**
 * A lock file after the change. `kept` are packages of the source URL that were not changed, `current` the number of packages that already have the
 * new URL.
 */
export type Rewritten = { path: string; text: string; changed: string[]; kept: Note[]; current: number; others: number }

/**
 * Replaces the hosted URL of packages: the upstream server by the mirror, or the reverse. Packages whose SHA-256 differs from the mirror's listing
 * keep their URL. URLs have the form that the pub client writes, because it would change any other form again. All other bytes stay as they are.
 * @throws ApiError InvalidInput
 */
export async function rewriteLockFile(mirror: Mirror, file: LockText, direction: 'mirror' | 'upstream'): Promise<Rewritten> {
  const hosted = hostedIn(file)
  const [upstream, own] = [mirror.upstream, mirrorUrl(mirror)]
  const [from, to] = direction === 'mirror' ? [upstream, own] : [own, upstream]
  const nodes = urlNodes(file.text)
  const result: Rewritten = { path: file.path, text: file.text, changed: [], kept: [], current: 0, others: 0 }
  const edits: Edit[] = []
  for (const locked of hosted) {
    const node = nodes.get(locked.name)
    if (!node || !isAmongHosted([from], locked.hostedUrl)) {
      result[isAmongHosted([to], locked.hostedUrl) ? 'current' : 'others']++
      continue
    }
    const reason = await whyDifferent(mirror, locked)
    const what = `${locked.name} ${locked.version}`
    if (reason !== null) result.kept.push({ what, reason })
    else {
      result.changed.push(what)
      edits.push({ start: node.start, end: node.end, text: node.quote + lockedHostedUrl(to) + node.quote })
    }
  }
  return { ...result, text: edited(file.text, edits) }
}

/** Returns why a package of a lock file is not known to be the same as the upstream server's, or null if it is. */
async function whyDifferent({ services }: Mirror, { name, version, sha256 }: LockedPackage): Promise<string | null> {
  const excluded = await mirrorExclusionReason(services, name)
  if (excluded !== null) return excluded
  if (sha256 === null) return 'The lock file has no sha256 for it. Run `dart pub get` with a current SDK first.'
  try {
    const found = await readListing(services, name)
    return found ? hashProblem(found.listing, { version, sha256 }) : 'The upstream server has no such package.'
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Returns what is wrong with a version and hash of a lock file, compared with a listing, or null. */
export function hashProblem({ versions }: MirroredListing, locked: Pick<LockedPackage, 'version' | 'sha256'>): string | null {
  const listed = versions.find(({ version }) => version === locked.version)
  if (!listed) return 'The upstream server has no such version.'
  if (listed.sha256 === null) return 'The upstream server does not state its SHA-256.'
  const wanted = locked.sha256?.toLowerCase()
  return wanted === undefined || wanted === listed.sha256
    ? null
    : `The lock file has the SHA-256 ${wanted.slice(0, 64)}, and the upstream server has ${listed.sha256}.`
}

type UrlNode = { start: number; end: number; quote: string }
type Edit = { start: number; end: number; text: string }

/** Returns where the URLs of packages are in the text of a lock file, by package name. */
function urlNodes(text: string): Map<string, UrlNode> {
  const nodes = new Map<string, UrlNode>()
  const packages = parseDocument(text, { logLevel: 'error', schema: 'core' }).get('packages')
  for (const { key, value } of isMap(packages) ? packages.items : []) {
    const description = isMap(value) ? value.get('description') : null
    const url: unknown = isMap(description) ? description.get('url', true) : null
    if (!isScalar(key) || !isScalar(url)) continue
    const [start, end] = url.range ?? []
    const quote = quoteOf(url)
    if (start !== undefined && end !== undefined && quote !== null) nodes.set(String(key.value), { start, end, quote })
  }
  return nodes
}

/** Returns the quotation mark around a scalar; null for block scalars, which no client writes. */
function quoteOf({ type }: Scalar): string | null {
  if (type === 'QUOTE_DOUBLE') return '"'
  if (type === 'QUOTE_SINGLE') return "'"
  return type === 'PLAIN' ? '' : null
}

function edited(text: string, edits: readonly Edit[]): string {
  let [result, at] = ['', 0]
  for (const { start, end, text: replacement } of [...edits].sort((a, b) => a.start - b.start)) {
    result += text.slice(at, start) + replacement
    at = end
  }
  return result + text.slice(at)
}
