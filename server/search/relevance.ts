import type { QueryTerms, QueryWord } from './terms.ts'

// How well a package fits the words of a query, computed alike for both databases. Each word of the query gets a score of its own, as in BM25F: the
// points of every place where it stands are added and saturate, so that a rare mention costs a package less than it gains by its name. Rare words
// weigh more than common ones. The engines' own functions do not serve: they count words among all packages, which would reveal private ones to
// callers who are not signed in, and the two engines disagree.

/** What is known of a package that may fit. Terms are separated by blanks, see `summaryOf`. */
export type Candidate = {
  name: string
  summary: string
  /** Where all words stand: in the short texts, in the README at least, or only among the names of the public API. */
  found: 'brief' | 'readme' | 'api'
  /** How well known the package is, from 0 to 1 (`signalOf`). */
  signal: number
}

/** Points for a word by its place; those of a name also depend on how much of the name the words are. */
const points = { name: 8, topic: 4, description: 2.5, readme: 1.2, api: 0.6 }
/** What a word gets in a place that has another form of it, and what a piece within a name gets. */
const quality = { begins: 0.75, inside: 0.45 }
/** The share of a name's points that depends on the length of the name. */
const byCoverage = 0.6
/** The points at which a word has half of what it can get. */
const saturation = 1.5
const most = saturated(points.name + points.topic + points.description)
/** The share of the score that an unknown package loses to the best known one. */
const bySignal = 0.5
/** Only the exact name scores 1. */
const belowExact = 0.99

/** From 0 to 1: the score of a package that has all words. `weights` has one number for each word of the query. */
export function relevanceOf({ names, words }: QueryTerms, weights: readonly number[], candidate: Candidate): number {
  if (names.includes(candidate.name)) return 1
  const nameWords = candidate.name.split('_')
  const joined = nameWords.join('')
  const [topics = [], description = []] = candidate.summary.split('\n').map((terms) => terms.split(' '))
  const inName = words.map((word) => nameMatch(word, nameWords, joined))
  const covered = Math.min(1, inName.reduce((sum, { letters }) => sum + letters, 0) / joined.length)
  const ofName = points.name * (1 - byCoverage + byCoverage * covered)
  let [score, total] = [0, 0]
  for (const [index, word] of words.entries()) {
    const brief =
      ofName * (inName[index]?.quality ?? 0) + points.topic * bestIn(word, topics) + points.description * bestIn(word, description)
    const weight = weights[index] ?? 1
    score += weight * saturated(brief > 0 ? brief : candidate.found === 'api' ? points.api : points.readme)
    total += weight
  }
  return belowExact * (score / total / most) * (1 - bySignal + bySignal * candidate.signal)
}

/** How well known a package is, from 0 to 1, on a logarithmic scale. Callers who may not see downloads leave them out. */
export function signalOf({ dependents, likes, downloads }: { dependents: number; likes: number; downloads?: number }): number {
  const share = (count: number, ceiling: number) => Math.min(1, Math.log1p(Math.max(0, count)) / Math.log1p(ceiling))
  const [used, liked] = [share(dependents, 10_000), share(likes, 10_000)]
  return downloads === undefined ? 0.6 * used + 0.4 * liked : 0.4 * used + 0.3 * liked + 0.3 * share(downloads, 10_000_000)
}

/** What a word counts for, less the more packages have it. */
export const rarityOf = (packages: number): number => 1 / (1 + 0.25 * Math.log1p(packages))

function saturated(sum: number): number {
  return sum / (sum + saturation)
}

/** How well a word fits a name, and how many letters of the name it covers. */
function nameMatch({ exact, prefixes }: QueryWord, nameWords: readonly string[], joined: string): { quality: number; letters: number } {
  const whole = exact.find((term) => term === joined || nameWords.includes(term))
  if (whole !== undefined) return { quality: 1, letters: whole.length }
  const beginning = prefixes.find((prefix) => nameWords.some((part) => part.startsWith(prefix)))
  if (beginning !== undefined) return { quality: quality.begins, letters: beginning.length }
  const inside = prefixes.find((prefix) => joined.includes(prefix))
  return inside === undefined ? { quality: 0, letters: 0 } : { quality: quality.inside, letters: inside.length }
}

function bestIn({ exact, prefixes }: QueryWord, terms: readonly string[]): number {
  if (exact.some((term) => terms.includes(term))) return 1
  return prefixes.some((prefix) => terms.some((term) => term.startsWith(prefix))) ? quality.begins : 0
}
