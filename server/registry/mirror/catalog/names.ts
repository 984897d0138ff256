import { z } from 'zod'
import type { Context } from '../../../platform/access/context.ts'
import { withoutBudget } from '../../../platform/access/budget.ts'
import { notFound } from '../../../errors.ts'
import { isUpstreamName } from '../../../platform/pub/package-name.ts'
import { isExcluded, requireMirror } from '../access.ts'
import { readDocument, storedDocument } from '../documents.ts'
import { findEntry, type MirrorServices } from '../entries.ts'
import { callerOf } from '../requested.ts'
import { inThread } from '../threads.ts'
import { unpackedBytes } from '../upstream.ts'

declare module '../../../services.ts' {
  interface State {
    /** Names of the upstream packages, each between line breaks, with the hash of the document they are from. */
    mirrorNames?: { sha256: string; lines: string }
    /** The completion document without own names. */
    mirrorCompletion?: { sha256: string; madeAt: Date; text: string }
  }
}

/** Maximum number of names that are compared with this server's own. */
const maxCandidates = 100

/**
 * Returns names of upstream packages for a search: an exact match, then names that begin with the text, then names that contain it. Leaves out names that
 * are never taken from upstream.
 * @throws ApiError if the caller may not read the mirror; ServiceUnavailable if the names are not in the mirror and the upstream server does not answer.
 */
export async function searchNames(context: Context, text: string, first: number): Promise<string[]> {
  if (context.config.UPSTREAM_URL === undefined) return []
  requireMirror(context)
  const wanted = text.trim().toLowerCase()
  if (!isUpstreamName(wanted)) return []
  const lines = await withoutBudget(context, () => currentNames(context))
  const candidates = matching(lines, wanted).filter((name) => !isExcluded(context.config, name))
  const own = await ownNames(context, candidates)
  return candidates.filter((name) => !own.has(name)).slice(0, first)
}

/** How long a completion document is used after own names have changed, in milliseconds. */
const completionMs = 10 * 60_000

/**
 * Returns the names of the upstream packages as a JSON document for completion in editors, without names that are never taken from upstream.
 * @throws ApiError NotFound if the upstream server has no such document; ServiceUnavailable as `searchNames`.
 */
export async function completionDocument(context: Context): Promise<string> {
  const { config, database, now, state } = context
  const document = await readDocument(context, 'names', '', { caller: callerOf(context) })
  if (!document) throw notFound('The upstream server has no names for completion.')
  const { sha256 } = document
  const made = state.mirrorCompletion
  if (made?.sha256 === sha256 && now().getTime() - made.madeAt.getTime() < completionMs) return made.text
  const rows = await database.reads.all<{ name: string }>('select name from packages union select name from reserved_names')
  const lines = await linesOf(context, document)
  const task = { task: 'completion', lines, own: rows.map(({ name }) => name), never: config.UPSTREAM_NEVER } as const
  const text = await inThread(callerOf(context), lines.length, z.string(), task)
  state.mirrorCompletion = { sha256, madeAt: now(), text }
  return text
}

async function currentNames(context: Context): Promise<string> {
  const document = await readDocument(context, 'names', '', { caller: callerOf(context) })
  return document ? await linesOf(context, document) : ''
}

/** Returns the names of the document, each between line breaks. They are kept in memory until the document changes. */
async function linesOf({ state }: Pick<MirrorServices, 'state'>, { sha256, packed }: { sha256: string; packed: Buffer }): Promise<string> {
  if (state.mirrorNames?.sha256 === sha256) return state.mirrorNames.lines
  const lines = await inThread('', unpackedBytes(packed), z.string(), { task: 'names', names: packed })
  state.mirrorNames = { sha256, lines }
  return lines
}

/**
 * Returns whether the upstream server has a package with this name, as far as the mirror knows: its listing or the names of all packages are in the
 * mirror. Sends no request to the upstream server.
 */
export async function isKnownUpstream(services: MirrorServices, name: string): Promise<boolean> {
  const { config, log, state } = services
  if (config.UPSTREAM_URL === undefined) return false
  try {
    if ((await findEntry(services, { kind: 'listing', name }))?.sha256) return true
    const sha256 = (await findEntry(services, { kind: 'names', name: '' }))?.sha256
    if (!sha256) return false
    const packed = state.mirrorNames?.sha256 === sha256 ? Buffer.alloc(0) : await storedDocument(services, sha256)
    return packed !== null && (await linesOf(services, { sha256, packed })).includes(`\n${name}\n`)
  } catch (error) {
    // The answer is only used for a warning.
    log.warning(`mirror: looking up the name ${name}: ${String(error)}`)
    return false
  }
}

/** Returns matching names: the text itself, then names that begin with it, then other names that contain it, each in the order of the document. */
function matching(lines: string, wanted: string): string[] {
  const exact = lines.includes(`\n${wanted}\n`) ? [wanted] : []
  const found = new Set(exact)
  for (const pattern of [`\n${wanted}`, wanted]) {
    for (let at = lines.indexOf(pattern); at !== -1 && found.size < maxCandidates; at = lines.indexOf(pattern, at + 1)) {
      const start = lines.lastIndexOf('\n', pattern.startsWith('\n') ? at : at - 1) + 1
      found.add(lines.slice(start, lines.indexOf('\n', start)))
    }
  }
  return [...found]
}

async function ownNames({ database }: Pick<MirrorServices, 'database'>, names: readonly string[]): Promise<Set<string>> {
  if (names.length === 0) return new Set()
  const marks = names.map(() => '?').join(', ')
  const rows = await database.reads.all<{ name: string }>(
    `select name from packages where name in (${marks}) union select name from reserved_names where name in (${marks})`,
    ...names,
    ...names,
  )
  return new Set(rows.map(({ name }) => name))
}

/** Returns the description of an upstream package if its listing is in the mirror, otherwise null. */
export async function describedIn(context: Context, name: string): Promise<string | null> {
  const entry = await findEntry(context, { kind: 'listing', name })
  if (!entry?.sha256) return null
  const { texts } = context.caches
  const key = `description:${entry.sha256}`
  const known = texts.get(key)
  if (known !== undefined) return known
  const listing = await storedDocument(context, entry.sha256)
  if (!listing) return null
  const description = await inThread(callerOf(context), unpackedBytes(listing), z.string(), { task: 'description', listing })
  texts.set(key, description)
  return description
}
