import { gunzipSync, gzipSync } from 'node:zlib'
import { inOwnMemory } from '../../platform/caches/retained-bytes.ts'
import { NotFetched } from '../../platform/outbound/request.ts'
import { matchesName } from '../../platform/pub/package-name.ts'
import { answerQuestions } from '../../platform/threads/worker.ts'
import type { MirrorKind } from './entity.ts'
import { agesIn, agesText, type History } from './ages.ts'
import {
  checkedDocument,
  documentLimits,
  hashesIn,
  limitedText,
  type MirroredListing,
  omittedFault,
  parseListing,
  storedText,
} from './listing.ts'
import { describeAdvisories, namesIn, renderListing, unreadableFault } from './render.ts'
import { type ForeignDocument, parseForeignAdvisories } from '../advisories/foreign.ts'
import { latestOf } from '../packages/versions/latest.ts'

// Runs in a thread, because what the upstream server sends can be large, and everything that is done with it would delay requests.

type Kind = Exclude<MirrorKind, 'archive'>

/** A document as it is in the store: compressed. */
type Stored = Uint8Array

/** What a worker thread does with documents of the upstream server. */
export type Task =
  /** Checks a document as it was sent, and returns what to store. `pinned`: SHA-256 of archives by version; `known`: the stored listing; `history`: without it. */
  | {
      task: 'check'
      kind: Kind
      name: string
      document: Uint8Array
      upstreamUrl: string
      pinned: Map<string, string>
      known: Stored | null
      history: History
    }
  /** Judges a stored listing, and returns it as clients get it. */
  | {
      task: 'render'
      listing: Stored
      advisories: Stored | null
      isWithoutAdvisories: boolean
      score: Stored | null
      policies: string | null
      serverUrl: string
      now: Date
    }
  /** Describes the advisories of a package. `versions`: all of its versions. */
  | { task: 'advisories'; name: string; advisories: Stored; versions: string[]; latest: string | null }
  /** Returns the tags of a package. */
  | { task: 'tags'; score: Stored }
  /** Returns the description of the latest version. */
  | { task: 'description'; listing: Stored }
  /** Returns the address of the archive of a version on the upstream server, or null. */
  | { task: 'archiveUrl'; listing: Stored; version: string }
  /** Returns the names in a document, each between line breaks. */
  | { task: 'names'; names: Stored }
  /** Returns names as a JSON document, without own names and names that match a pattern. */
  | { task: 'completion'; lines: string; own: string[]; never: string[] }

answerQuestions((task: Task) => {
  try {
    return answer(task)
  } catch (error) {
    // Other errors end the thread.
    if (error instanceof NotFetched) return { fault: error.message }
    throw error
  }
})

function answer(task: Task): unknown {
  if (task.task === 'check') return check(task)
  if (task.task === 'names') return namesIn(textOf('names', task.names))
  if (task.task === 'completion') return completion(task)
  if (task.task === 'description') return describe(parsed('listing', task.listing) as MirroredListing)
  if (task.task === 'archiveUrl') return archiveUrlIn(parsed('listing', task.listing) as MirroredListing, task.version)
  if (task.task === 'tags') return tagsIn(task.score)
  if (task.task === 'advisories') return describeAdvisories({ ...task, advisories: advisoriesIn(task.advisories) })
  const advisories = task.advisories && advisoriesIn(task.advisories)
  const tags = task.score && tagsIn(task.score)
  return renderListing({ ...task, listing: parsed('listing', task.listing) as MirroredListing, advisories, tags })
}

const archiveUrlIn = ({ versions }: MirroredListing, wanted: string): string | null =>
  versions.find(({ version }) => version === wanted)?.archiveUrl ?? null

function tagsIn(score: Stored): string[] | null {
  const { tags } = parsed('score', score) as { tags?: unknown }
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : null
}

const advisoriesIn = (stored: Stored) => parsed('advisories', stored) as ForeignDocument

const textOf = (kind: Kind, stored: Stored): string =>
  storedText(kind, gunzipSync(stored, { maxOutputLength: 2 * documentLimits[kind].bytes }))

const parsed = (kind: Kind, stored: Stored): unknown => JSON.parse(textOf(kind, stored))

/** Largest stored document in bytes, compressed. Listings of pub.dev are at most a few hundred KB. */
const maxStoredBytes = 2 * 1024 ** 2

function check({ kind, name, document, upstreamUrl, pinned, known, history }: Task & { task: 'check' }) {
  const { text, omitted } = limitedText(kind, Buffer.from(document.buffer, document.byteOffset, document.byteLength))
  const left = omittedFault(name, omitted)
  if (kind !== 'listing') {
    const checked = checkedDocument(kind, text, history.now)
    const problem = kind === 'advisories' ? parseForeignAdvisories(JSON.parse(checked) as ForeignDocument, name).problem : null
    const faults = problem === null ? left : [...left, { version: '', rule: 'advisories', reason: unreadableFault(name, problem) }]
    return { content: compressed(checked), ages: null, faults }
  }
  const knownText = known && gunzipSync(known).toString('utf8')
  const { listing, faults } = parseListing(text, {
    name,
    upstreamUrl,
    pinned: new Map([...pinned, ...hashesIn(knownText)]),
    history: { ...history, versions: new Map([...history.versions, ...agesIn(knownText)]) },
  })
  if (!listing) throw new NotFetched([...left, ...faults][0]?.reason ?? `The listing of ${name} has no versions.`)
  return { content: compressed(JSON.stringify(listing)), ages: agesText(listing), faults: [...left, ...faults] }
}

/** Returns a document as it is stored. @throws NotFetched if it is too large. */
function compressed(text: string): Buffer {
  const content = inOwnMemory(gzipSync(text))
  if (content.length > maxStoredBytes) throw new NotFetched(`the document has more than ${maxStoredBytes} bytes, compressed`)
  return content
}

function completion({ lines, own, never }: Task & { task: 'completion' }): string {
  const names = new Set(own)
  const packages = lines
    .split('\n')
    .filter((name) => name !== '' && !names.has(name.toLowerCase()) && !never.some((pattern) => matchesName(pattern, name)))
  return JSON.stringify({ packages })
}

function describe({ versions }: MirroredListing): string {
  const description = latestOf(versions)?.pubspec.description
  return typeof description === 'string' ? description.trim() : ''
}
