import type { Context } from '../../platform/access/context.ts'
import { batched } from '../../platform/db/batched.ts'
import { readRows } from '../../platform/db/statements.ts'
import type { Package } from '../packages/entity.ts'
import { pubspecOf } from '../packages/versions/pubspec.ts'
import { namesInSurface } from '../packages/versions/searched-texts.ts'
import { descriptionOf, displayedVersion } from '../packages/versions/service.ts'
import { isRelated, type QueryTerms, type QueryWord, termsOf, withoutMarkup } from './terms.ts'

export type Segment = { text: string; isMatch: boolean }
/** Part of a text that contains searched words. */
export type Excerpt = { source: 'readme' | 'api'; segments: Segment[] }

type Reader = Pick<Context, 'em' | 'viewer' | 'config'>

/**
 * Returns why a package matches words that its name, description and topics do not contain: a part of its README, or names of its public API. Null if
 * they contain all words. Reads only the version that the caller sees, and the indexed part of its texts.
 */
export async function excerptOf(reader: Reader, pkg: Package, { words }: QueryTerms): Promise<Excerpt | null> {
  const version = await displayedVersion(reader, pkg)
  if (!version) return null
  const brief = [pkg.name, await descriptionOf(reader, pkg), ...pubspecOf(version).topics].flatMap(termsOf)
  const joined = pkg.name.replaceAll('_', '')
  const missing = words.filter((word) => !isRelated(word, brief) && !word.prefixes.some((prefix) => joined.includes(prefix)))
  if (missing.length === 0) return null
  const readme = await loadReadme(reader, version.id)
  const segments = readme === null ? null : buildExcerpt(readme, missing, words)
  if (segments) return { source: 'readme', segments }
  const surface = await loadSurface(reader, version.id)
  const names = surface === null ? [] : matchingNames(namesInSurface(surface), missing)
  return names.length === 0 ? null : { source: 'api', segments: markWords(names.join(', '), words) }
}

const loadReadme = batched((em, ids) =>
  textsById<string>(em, `substr(content, 1, ${readmeLength}) as text from version_documents where kind = 'readme'`, ids),
)

/** Loads the beginning of API outlines, which names types and functions first. */
const loadSurface = batched((em, ids) =>
  textsById<Uint8Array>(em, `substr(surface, 1, ${surfaceBytes}) as text from version_surfaces where true`, ids),
)

async function textsById<Text>(em: Context['em'], columns: string, ids: string[]): Promise<ReadonlyMap<string, Text>> {
  const sql = `select version_id as id, ${columns} and version_id in (${ids.map(() => '?').join(', ')})`
  return new Map((await readRows<{ id: string; text: Text }>(em, sql, ids)).map(({ id, text }) => [id, text]))
}

const readmeLength = 65_536
const surfaceBytes = 16_384
const maxNames = 5
/** Characters before the first word, and in total. */
const [leadLength, excerptLength] = [60, 200]

function matchingNames(names: readonly string[], words: readonly QueryWord[]): string[] {
  return names.filter((name) => words.some((word) => isRelated(word, termsOf(name)))).slice(0, maxNames)
}

/** Cuts the text around the first of the missing words, at spaces. Returns null if none of them occurs. */
export function buildExcerpt(markdown: string, missing: readonly QueryWord[], words: readonly QueryWord[]): Segment[] | null {
  const text = withoutMarkup(markdown)
  const at = findWord(text, missing)
  if (at === null) return null
  // Only the surroundings are cleaned: the README may be long.
  const before = plainText(text.slice(Math.max(0, at - 2 * leadLength), at))
  const after = plainText(text.slice(at, at + 2 * excerptLength))
  const start = before.length <= leadLength ? before : `…${before.slice(before.indexOf(' ', before.length - leadLength))}`
  const whole = `${start.trimStart()}${after}`
  const end = whole.lastIndexOf(' ', excerptLength)
  return markWords(whole.length <= excerptLength ? whole.trim() : `${whole.slice(0, end > 0 ? end : excerptLength)} …`, words)
}

/** Removes Markdown's marks and repeated spaces. */
const plainText = (markdown: string) =>
  markdown
    .replace(/!?\[([^[\]\n]{0,200})\](?:\([^()\n]{0,200}\)?)?/g, '$1')
    .replace(/^[ \t]*(?:#{1,6}|[-*+>])[ \t]+|[`*~|]+|\[|\]\([^()\s]{0,200}\)?/gm, ' ')
    .replace(/\s+/g, ' ')
    .replace(/ (?=[.,;:!?](?:\s|$))/g, '')

/** Returns where the first word occurs, as a whole word or as its beginning. */
function findWord(text: string, words: readonly QueryWord[]): number | null {
  for (const run of runsIn(text, words)) if (run.isMatch) return run.start
  return null
}

/** Splits a text into segments: words that match the query, and the text between them. */
export function markWords(text: string, words: readonly QueryWord[]): Segment[] {
  const segments: Segment[] = []
  let end = 0
  for (const run of runsIn(text, words)) {
    if (!run.isMatch) continue
    if (run.start > end) segments.push({ text: text.slice(end, run.start), isMatch: false })
    segments.push({ text: run.text, isMatch: true })
    end = run.start + run.text.length
  }
  if (end < text.length) segments.push({ text: text.slice(end), isMatch: false })
  return segments
}

/** Maximum number of possible matches that are compared as terms, so that a hostile text takes no long time. */
const maxRuns = 200

/** Yields the words of a text that could match, each once, and whether they do. */
function* runsIn(text: string, words: readonly QueryWord[]): Generator<{ text: string; start: number; isMatch: boolean }> {
  let [end, count] = [0, 0]
  for (const { index } of text.matchAll(anyOf(words))) {
    if (index < end) continue
    if (++count > maxRuns) return
    const run = runAround(text, index)
    end = run.start + run.text.length
    const terms = termsOf(run.text)
    yield { ...run, isMatch: words.some((word) => isRelated(word, terms)) }
  }
}

/** A fast pattern of possible matches, whose words are then compared as terms. Terms contain only letters, digits and marks. */
const anyOf = (words: readonly QueryWord[]) => new RegExp(words.flatMap(({ exact, prefixes }) => [...exact, ...prefixes]).join('|'), 'giu')

/** Returns the word around a position, at most 64 characters to each side. */
function runAround(text: string, at: number): { text: string; start: number } {
  const [before = ''] = /[\p{L}\p{N}\p{M}]*$/u.exec(text.slice(Math.max(0, at - 64), at)) ?? []
  const [after = ''] = /^[\p{L}\p{N}\p{M}]*/u.exec(text.slice(at, at + 64)) ?? []
  return { text: before + after, start: at - before.length }
}
