import { isPairable, type QueryTerms, type QueryWord } from './terms.ts'

// Scores how well a package matches the words of a query, identically on both databases. Each query word is scored separately, as in BM25F: the
// points of all fields that contain it are summed and then saturated, so a rare mention cannot outweigh a match in the name. Rare words weigh more
// than common ones. The databases' own ranking functions are unsuitable: they count words across all packages, which would reveal private packages to
// anonymous callers, and the two databases rank differently.

/** A possible match. The lines of `summary` contain terms and names, separated by spaces (see `summaryOf`). */
export type Candidate = {
  name: string
  summary: string
  /** Where all words occur: in the short texts, at least in the README, or only in the names of the public API. */
  found: 'brief' | 'readme' | 'api'
  /** Popularity from 0 to 1 (see `signalOf`). */
  signal: number
}

/** Points for a word by field. Points for the name also depend on how much of the name the words cover. */
const points = { name: 8, topic: 4, description: 2.5, readme: 1.2, api: 0.6 }
/** Factors for inexact matches: a different word with the same stem, a longer word, and a substring of the name. */
const quality = { begins: 0.75, longer: 0.65, inside: 0.45 }
/** Share of the name's points that depends on coverage. */
const byCoverage = 0.6
/** Number of points at which a word reaches half of its maximum score. */
const saturation = 1.5
const maxWordScore = saturated(points.name + points.topic + points.description)
/** Weight of a word that was left out, compared with a word that matches must contain. */
const byLeftOut = 0.5
/** Share of the score that a package without any popularity loses. */
const bySignal = 0.5
/** Upper bound for every match other than the exact name, which scores 1. */
const belowExact = 0.99

/** Returns the score, from 0 to 1, of a package that contains all words. `weights` has one number per query word, then per word that was left out. */
export function relevanceOf(
  { names, words: required, leftOut = [] }: QueryTerms,
  weights: readonly number[],
  candidate: Candidate,
): number {
  if (names.includes(candidate.name)) return 1
  const nameWords = candidate.name.split('_')
  const joined = nameWords.join('')
  const words = [...required, ...leftOut]
  const [topics = [], description = []] = candidate.summary.split('\n', 2).map((terms) => terms.split(' '))
  const inName = words.map((word) => nameMatch(word, nameWords, joined))
  const covered = Math.min(1, inName.reduce((sum, { letters }) => sum + letters, 0) / joined.length)
  const ofName = points.name * (1 - byCoverage + byCoverage * covered)
  let [score, total] = [0, 0]
  const elsewhere = candidate.found === 'api' ? points.api : points.readme
  for (const [index, word] of words.entries()) {
    const isRequired = index < required.length
    const brief =
      ofName * (inName[index]?.quality ?? 0) + points.topic * bestIn(word, topics) + points.description * bestIn(word, description)
    const weight = (weights[index] ?? 1) * (isRequired ? 1 : byLeftOut)
    score += weight * saturated(brief > 0 || !isRequired ? brief : isInPairs(word, candidate) ? points.description : elsewhere)
    total += weight
  }
  return belowExact * (score / total / maxWordScore) * (1 - bySignal + bySignal * candidate.signal)
}

/** Returns a package's popularity from 0 to 1, on a logarithmic scale. Omit `downloads` for callers who may not see them. */
export function signalOf({ dependents, likes, downloads }: { dependents: number; likes: number; downloads?: number }): number {
  const share = (count: number, ceiling: number) => Math.min(1, Math.log1p(Math.max(0, count)) / Math.log1p(ceiling))
  const [used, liked] = [share(dependents, 10_000), share(likes, 10_000)]
  return downloads === undefined ? 0.6 * used + 0.4 * liked : 0.4 * used + 0.3 * liked + 0.3 * share(downloads, 10_000_000)
}

/** Returns the weight of a word, which decreases with the number of packages that contain it. */
export const rarityOf = (packages: number): number => 1 / (1 + 0.25 * Math.log1p(packages))

function saturated(sum: number): number {
  return sum / (sum + saturation)
}

/** Returns how well a word matches a name, and how many letters of the name it covers. */
function nameMatch({ exact, prefixes }: QueryWord, nameWords: readonly string[], joined: string): { quality: number; letters: number } {
  const whole = exact.find((term) => term === joined || nameWords.includes(term))
  if (whole !== undefined) return { quality: 1, letters: whole.length }
  const beginning = prefixes.find((prefix) => nameWords.some((part) => part.startsWith(prefix)))
  if (beginning !== undefined) {
    const typed = exact.find((term) => nameWords.some((part) => part.startsWith(term))) ?? beginning
    return { quality: beginningIn(prefixes, nameWords), letters: typed.length }
  }
  const inside = prefixes.find((prefix) => joined.includes(prefix))
  return inside === undefined ? { quality: 0, letters: 0 } : { quality: quality.inside, letters: inside.length }
}

/** Whether the short texts contain the word as two adjacent words. */
function isInPairs({ exact }: QueryWord, { found, summary }: Candidate): boolean {
  if (found !== 'brief') return false
  const joined = summary.replaceAll(' ', '')
  return exact.some((term) => isPairable(term) && joined.includes(term))
}

function bestIn({ exact, prefixes }: QueryWord, terms: readonly string[]): number {
  return exact.some((term) => terms.includes(term)) ? 1 : beginningIn(prefixes, terms)
}

/** Returns the quality of the best term that starts with one of the prefixes. A plural is closer than a longer word, such as `shared` to `share`. */
function beginningIn(prefixes: readonly string[], terms: readonly string[]): number {
  let best = 0
  for (const term of terms) {
    const prefix = prefixes.find((each) => term.startsWith(each))
    if (prefix === undefined) continue
    if (/^e?s?$/.test(term.slice(prefix.length))) return quality.begins
    best = quality.longer
  }
  return best
}

/** Share of its score that a part of a federated plugin keeps. */
const ofPart = 0.6
/** Maximum depth of parts of parts. */
const maxDepth = 3

type Scored = { name: string; score: number; summary: string }

/**
 * Adjusts the scores of the parts of federated plugins: a package that implements another match, or that another match endorses, counts for that one
 * and comes after it. Packages whose name is the query keep their score.
 */
export function rankParts<Match extends Scored>(matches: readonly Match[]): Match[] {
  const wholes = wholesOf(matches)
  const scores = new Map(matches.map(({ name, score }) => [name, score]))
  const chainOf = (name: string) => {
    const chain = [name]
    for (let whole = wholes.get(name); whole !== undefined && !chain.includes(whole) && chain.length <= maxDepth; whole = wholes.get(whole))
      chain.push(whole)
    return chain.slice(1)
  }
  const chains = matches.map(({ name, score }) => (score < 1 ? chainOf(name) : []))
  for (const [index, { score }] of matches.entries())
    for (const whole of chains[index] ?? []) scores.set(whole, Math.max(scores.get(whole) ?? 0, score))
  return matches.map((match, index) => ({ ...match, score: (scores.get(match.name) ?? 0) * ofPart ** (chains[index]?.length ?? 0) }))
}

/** Returns the match that each part belongs to, by name. */
function wholesOf(matches: readonly Scored[]): Map<string, string> {
  const names = new Set(matches.map(({ name }) => name))
  const wholes = new Map<string, string>()
  const lines = matches.map(({ name, summary }) => ({ name, ofParts: summary.split('\n').slice(2) }))
  for (const {
    name,
    ofParts: [, endorsed = ''],
  } of lines)
    for (const part of endorsed.split(' ')) if (part !== name && names.has(part)) wholes.set(part, name)
  for (const {
    name,
    ofParts: [implemented = ''],
  } of lines)
    if (implemented !== name && names.has(implemented)) wholes.set(name, implemented)
  return wholes
}
