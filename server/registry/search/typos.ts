import { dialectOf, isWithin } from './dialects.ts'
import { countWords, type Ranked, rankPackages, type WordSelection } from './ranking.ts'
import type { Reach, Source } from './selection.ts'
import { respelled, spellingTerms, termsOf } from './terms.ts'

/** A query and its matches. `ranked` contains all matches if there are fewer than three. */
type Typed = { query: string; ranked: readonly Ranked[]; limit: number }

export type Corrected = { selection: WordSelection; query: string; ranked: Ranked[] }

/**
 * Corrects a query that has no matches, or at most two packages that mention its words only in their READMEs. The one word that occurs in no name,
 * topic or description is replaced by a word from a package name that differs by one edit: an inserted, deleted, changed or swapped letter. Returns
 * null when no correction finds more packages.
 */
export async function correct(source: Source, selection: WordSelection, { query, ranked, limit }: Typed): Promise<Corrected | null> {
  if (ranked.length > 2 || ranked.some(({ isOnlyMentioned }) => !isOnlyMentioned)) return null
  const unknown = (await countWords(source, selection)).flatMap((count, index) => (count === 0 ? [index] : []))
  const [index] = unknown
  const typed = selection.terms.words[index ?? 0]?.exact[0] ?? ''
  if (index === undefined || unknown.length > 1 || !correctable.test(typed)) return null
  const spelling = await nearestWord(source, selection, typed)
  if (spelling === null) return null
  const corrected = { ...selection, terms: respelled(selection.terms, index, spelling) }
  const found = await rankPackages(source, corrected, limit)
  return found.length > ranked.length ? { selection: corrected, query: replaceWord(query, typed, spelling), ranked: found } : null
}

/** Shorter words are one edit away from too many others. */
const correctable = /^[a-z]{4,20}$/

/** Returns the most frequent word in package names that is one edit away from `typed`. Ties are won by the package with more likes. */
async function nearestWord(source: Source, { reach }: WordSelection, typed: string): Promise<string | null> {
  const counts = new Map<string, number>()
  const { sql, parameters } = dialectOf(source.backend).marked(spellingTerms(typed))
  const rows = await source.reads.all<{ name: string }>(
    `select d.name from (${sql}) m join package_search_documents d on d.id = m.id where ${isWithin[reach]} order by d.likes desc, d.name limit 200`,
    ...parameters,
  )
  const words = rows.flatMap(({ name }) => termsOf(name)).filter((word) => distance(typed, word) === 1)
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  const [nearest] = [...counts].toSorted(([, a], [, b]) => b - a)
  return nearest?.[0] ?? null
}

/** Replaces one word of the query. Filter values stay unchanged. */
const replaceWord = (query: string, word: string, spelling: string): string =>
  query.replace(new RegExp(String.raw`(?<![\p{L}\p{N}:"])${word}`, 'iu'), spelling)

/** Returns package names within a small edit distance of `typed`, nearest first. */
export async function suggestNames({ reads, backend }: Source, typed: string, reach: Reach, limit = 3): Promise<string[]> {
  if (!/^\w{4,64}$/.test(typed)) return []
  const { sql, parameters } = dialectOf(backend).similar(typed, reach, candidates)
  const rows = await reads.all<{ name: string }>(sql, ...parameters)
  const slips = Math.max(1, Math.floor(typed.length / 4))
  return rows
    .map(({ name }) => ({ name, distance: distance(typed, name) }))
    .filter((candidate) => candidate.distance <= slips)
    .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, limit)
    .map(({ name }) => name)
}

const candidates = 50

/** Returns the number of inserted, deleted, changed or swapped letters (optimal string alignment distance). */
function distance(a: string, b: string): number {
  let [beforeLast, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(beforeLast, j - 2) + 1 : Infinity
      row.push(Math.min(at(last, j) + 1, at(row, j - 1) + 1, replaced, swapped))
    }
    ;[beforeLast, last] = [last, row]
  }
  return at(last, b.length)
}

const at = (row: number[], index: number) => row[index] ?? Infinity
