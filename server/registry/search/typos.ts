import { dialectOf, isWithin } from './dialects.ts'
import { countSelections, countWords, type WordSelection } from './ranking.ts'
import type { Reach, Source } from './selection.ts'
import { respelled, spellingTerms, termsOf, withoutWords } from './terms.ts'

/** A selection that is searched instead of the typed one, and the query that it stands for. */
export type Instead = { selection: WordSelection; query: string }

/**
 * Corrects the words that occur in no name, topic or description: each is replaced by a word of a name, topic or description that differs by one edit:
 * an inserted, deleted, changed or swapped letter. Returns null if there is no such word, or if the query is a name with more than one mistake, for
 * which `suggestNames` has suggestions.
 */
export async function correct(source: Source, selection: WordSelection, query: string): Promise<Instead | null> {
  const counts = await countWords(source, selection)
  if (/^\w+_\w+$/.test(query.trim()) && counts.filter((count) => count === 0).length > 1) return null
  let corrected: Instead = { selection, query }
  for (const [index, word] of selection.terms.words.entries()) {
    const [typed = ''] = word.exact
    const isCorrectable = typed.length >= (counts.length > 1 ? 3 : minAlone) && counts[index] === 0
    const spelling = isCorrectable ? await bestSpelling(source, corrected.selection, index, typed) : null
    if (spelling === null) continue
    const terms = respelled(corrected.selection.terms, index, spelling)
    corrected = { selection: { ...selection, terms }, query: replaceWord(corrected.query, typed, spelling) }
  }
  return corrected.selection === selection ? null : corrected
}

/** Minimum length of a word that is corrected without others next to it. Shorter words are one edit away from too many. */
const minAlone = 4
const maxSpellings = 4

/** Returns the most frequent of the nearest words, if possible one that occurs together with the other words of the query. */
async function bestSpelling(source: Source, selection: WordSelection, index: number, typed: string): Promise<string | null> {
  const spellings = await nearestWords(source, selection, typed)
  const [first = null] = spellings
  if (spellings.length < 2 || selection.terms.words.length < 2) return first
  const each = spellings.map((spelling) => ({ ...selection, terms: respelled(selection.terms, index, spelling) }))
  const counts = await countSelections(source, each, 'full')
  return spellings.find((_, at) => (counts[at] ?? 0) > 0) ?? first
}

/** Returns the most frequent words that are one edit away from `typed`. A word of a name counts three times. Ties are won by the package with more likes. */
async function nearestWords(source: Source, { reach }: WordSelection, typed: string): Promise<string[]> {
  const spellings = spellingTerms(typed)
  if (spellings.length === 0) return []
  const { sql, parameters } = dialectOf(source.backend).marked(spellings)
  const rows = await source.reads.all<{ name: string; summary: string }>(
    `select d.name, d.summary from (${sql}) m join package_search_documents d on d.id = m.id where ${isWithin[reach]} order by d.likes desc, d.name limit 200`,
    ...parameters,
  )
  const counts = new Map<string, number>()
  for (const { name, summary } of rows) {
    const words = [...termsOf(name).flatMap((word) => [word, word, word]), ...summary.split('\n', 2).flatMap((line) => line.split(' '))]
    for (const word of words) if (isNear(typed, word)) counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  const sorted = [...counts].toSorted(([, a], [, b]) => b - a)
  return sorted.slice(0, maxSpellings).map(([word]) => word)
}

const isNear = (typed: string, word: string) => Math.abs(typed.length - word.length) < 2 && distance(typed, word) === 1

/**
 * Leaves out the word that excludes most packages: without it, most packages match. If every pair of words excludes all packages, leaves out as few of
 * the rarest words as necessary. Returns null if nothing matches then, either.
 */
export async function leaveOut(source: Source, { selection, query }: Instead): Promise<Instead | null> {
  const { words, namesOnly } = selection.terms
  if (words.length < 2) return null
  const without = (indexes: readonly number[]) => ({ ...selection, terms: withoutWords(selection.terms, indexes) })
  const count = (attempts: readonly number[][]) => countSelections(source, attempts.map(without), namesOnly ? 'name' : 'full')
  const each = words.map((_, index) => [index])
  const counts = await count(each)
  const most = counts.indexOf(Math.max(...counts))
  const indexes = (counts[most] ?? 0) > 0 ? [most] : words.length > 2 ? await rarestWords(words.length, count) : null
  if (indexes === null) return null
  const left = indexes.reduce((text, index) => replaceWord(text, words[index]?.exact[0] ?? '', ''), query)
  return { selection: without(indexes), query: left.replaceAll(/\s+/g, ' ').trim() }
}

/** Returns the indexes of the fewest of the rarest words without which there are matches. */
async function rarestWords(words: number, count: (attempts: readonly number[][]) => Promise<number[]>): Promise<number[] | null> {
  const all = Array.from({ length: words }, (_, index) => index)
  const alone = await count(all.map((index) => all.filter((other) => other !== index)))
  const rarest = all.toSorted((a, b) => (alone[a] ?? 0) - (alone[b] ?? 0))
  const attempts = rarest.slice(1, -1).map((_, index) => rarest.slice(0, index + 2))
  const counts = await count(attempts)
  return attempts[counts.findIndex((found) => found > 0)] ?? null
}

/** Replaces one word of the query. Filter values stay unchanged. */
const replaceWord = (query: string, word: string, spelling: string): string =>
  query.replace(new RegExp(String.raw`(?<![\p{L}\p{N}:"])${word}`, 'iu'), spelling)

/** Returns package names within a small edit distance of `typed`, nearest first. */
export async function suggestNames({ reads, backend }: Source, typed: string, reach: Reach, limit = 3): Promise<string[]> {
  if (!/^\w{4,64}$/.test(typed)) return []
  const dialect = dialectOf(backend)
  const similar = dialect.similar(typed, reach, candidates)
  // A mistake in the middle of a short name leaves no three letters in common. The spelling terms then find it.
  const terms = typed.split('_').flatMap(spellingTerms)
  const near = dialect.marked(terms)
  const found = await reads.all<{ name: string }>(similar.sql, ...similar.parameters)
  const spelled =
    terms.length === 0
      ? []
      : await reads.all<{ name: string }>(
          `select d.name from (${near.sql}) m join package_search_documents d on d.id = m.id where ${isWithin[reach]} order by abs(length(d.name) - ?), d.name limit 200`,
          ...near.parameters,
          typed.length,
        )
  const rows = [...new Map([...found, ...spelled].map((row) => [row.name, row])).values()]
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
