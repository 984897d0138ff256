import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Context } from '../../../platform/access/context.ts'
import { withoutBudget } from '../../../platform/access/budget.ts'
import { ApiError, notFound } from '../../../errors.ts'
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
    /** Names of the packages in the mirror. */
    mirroredNames?: { sha256: string; lines: string; madeAt: Date }
    /** The completion document without own names. */
    mirrorCompletion?: { sha256: string; madeAt: Date; text: string }
  }
}

/** Maximum number of names that are compared with this server's own. */
const maxCandidates = 100

/**
 * Returns names of upstream packages for a search: an exact match, then names that begin with the text, then names that contain it. Leaves out names that
 * are never taken from upstream.
 * @throws ApiError if the caller may not read the mirror; ServiceUnavailable if the mirror is empty and the upstream server does not answer.
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
 * @throws ApiError NotFound if neither the upstream server nor the mirror has names; ServiceUnavailable as `searchNames`.
 */
export async function completionDocument(context: Context): Promise<string> {
  const { config, database, now, state } = context
  const names = await readNames(context)
  if (!names) throw notFound('The upstream server has no names for completion.')
  const { sha256, lines } = names
  const made = state.mirrorCompletion
  if (made?.sha256 === sha256 && now().getTime() - made.madeAt.getTime() < completionMs) return made.text
  const rows = await database.reads.all<{ name: string }>('select name from packages union select name from reserved_names')
  const task = { task: 'completion', lines, own: rows.map(({ name }) => name), never: config.UPSTREAM_NEVER } as const
  const text = await inThread(callerOf(context), lines.length, z.string(), task)
  state.mirrorCompletion = { sha256, madeAt: now(), text }
  return text
}

const currentNames = async (context: Context): Promise<string> => (await readNames(context))?.lines ?? ''

/** Names, each between line breaks, and the hash of what they are from. */
type Names = { sha256: string; lines: string }

/**
 * Returns the names of the upstream server's packages. Without its document, as in a closed network after an import, returns the names of the packages in
 * the mirror, or null if it has no packages.
 * @throws ApiError ServiceUnavailable if the upstream server does not answer, and the mirror has no packages.
 */
async function readNames(context: Context): Promise<Names | null> {
  try {
    const document = await readDocument(context, 'names', '', { caller: callerOf(context) })
    return document ? { sha256: document.sha256, lines: await linesOf(context, document) } : await mirroredNames(context)
  } catch (error) {
    const names = error instanceof ApiError && error.status === 503 ? await mirroredNames(context) : null
    if (!names) throw error
    return names
  }
}

/** How long the names of the packages in the mirror are used, in milliseconds. */
const mirroredMs = 10_000

async function mirroredNames({ database, now, state }: Context): Promise<Names | null> {
  const made = state.mirroredNames
  if (made && now().getTime() - made.madeAt.getTime() < mirroredMs) return made
  const rows = await database.reads.all<{ name: string }>(
    "select name from mirror_entries where kind = 'listing' and sha256 is not null order by name",
  )
  if (rows.length === 0) return null
  const lines = `\n${rows.map(({ name }) => name).join('\n')}\n`
  const names = { sha256: createHash('sha256').update(lines).digest('hex'), lines }
  state.mirroredNames = { ...names, madeAt: now() }
  return names
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
