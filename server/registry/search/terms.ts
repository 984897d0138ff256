/**
 * The indexed terms of a package. `pairs`: adjacent words joined, by text (see `pairTerm`). `all` is the union of these fields, the README's terms, and
 * the API names as encoded by `apiTerm`.
 */
export type DocumentTerms = Record<'words' | 'parts' | 'description' | 'topics' | 'all', string[]> & {
  pairs: Record<'description' | 'topics', string[]>
}

/** A word of a query: the word as typed with its alternative spellings, and prefixes of other matching terms. */
export type QueryWord = { exact: string[]; prefixes: string[] }

/**
 * A query as terms. `names`: package names that the query spells. `namesOnly`: the words are too short for searching other texts. `leftOut`: words that
 * matches need not contain, but which make them better.
 */
export type QueryTerms = { names: string[]; words: QueryWord[]; namesOnly: boolean; leftOut?: QueryWord[] }

/** The searchable texts of a package. `api`: names declared by the public API. */
export type IndexedTexts = { name: string; description: string; topics: readonly string[]; readme: string | null; api?: readonly string[] }

/** Returns the terms of a package. The README's terms come last, so only they are cut off at the limit. */
export function documentTerms({ name, description, topics, readme, api = [] }: IndexedTexts): DocumentTerms {
  const brief = {
    words: termsOf(name),
    parts: partsOf(name.replaceAll('_', '')),
    description: termsOf(description),
    topics: topics.flatMap(termsOf),
  }
  const pairs = { description: pairsOf(description), topics: topics.flatMap(pairsOf) }
  const all = new Set([...Object.values(brief), ...Object.values(pairs)].flat())
  const text = withoutMarkup((readme ?? '').slice(0, maxReadmeLength))
  for (const terms of [termsOf(text), (text.match(hyphenated) ?? []).flatMap(pairsOf)]) {
    for (const term of terms) if (all.size < maxTerms) all.add(term)
  }
  return { ...brief, pairs, all: [...all, ...apiTerms(api)] }
}

/** Returns the spelling terms of a package: of the words of its name and topics, and of the long words of its description. */
export function spellingsOf({ words, topics, description }: DocumentTerms): string[] {
  const long = description.filter((term) => term.length >= minSpelledLength && !stopWords.has(term)).slice(0, maxSpelled)
  return [...new Set([...words, ...topics, ...long])].flatMap(spellingTerms)
}

/**
 * Encodes two adjacent words as one term, so that `backoff` finds `back-off` and `back off`. The mark keeps prefixes from matching across words.
 */
export const pairTerm = (joined: string): string => `⁀${singularOf(joined)}`

/** Whether a word may also be written as two. Shorter ones consist of words too short to mean anything. */
export const isPairable = (term: string): boolean => /^[a-z][a-z0-9]{4,63}$/.test(term)

function pairsOf(text: string): string[] {
  const runs = wordsOf(text).map((run) => run.toLowerCase())
  const joined = runs.slice(1).map((run, index) => `${runs[index]}${run}`)
  const whole = runs.length === 3 ? [runs.join('')] : []
  return [...new Set([...joined, ...whole].filter(isPairable).map(pairTerm))]
}

/**
 * Formats what scoring needs (relevance.ts), in lines: the terms of the topics, those of the description, the plugin that the package
 * implements, and the packages that it endorses.
 */
export const summaryOf = ({ topics, description }: DocumentTerms, { implemented, endorsed }: Federation): string =>
  [
    topics.join(' '),
    description.slice(0, maxDescriptionTerms).join(' '),
    /^\w{1,64}$/.exec(implemented ?? '')?.[0] ?? '',
    endorsed.slice(0, maxEndorsed).join(' '),
  ].join('\n')

/** The parts of a federated plugin: the plugin that a package implements, and the packages that implement the package itself. */
export type Federation = { implemented: string | null; endorsed: readonly string[] }

/**
 * Returns the word and all variants with one letter deleted, as index terms. Two words that differ by one letter share at least one of these terms
 * (symmetric delete spelling correction).
 */
export function spellingTerms(word: string): string[] {
  if (!/^[a-z]{3,20}$/.test(word)) return []
  const shorter = Array.from(word, (_, index) => word.slice(0, index) + word.slice(index + 1))
  return [...new Set([word, ...shorter])].map((spelling) => `≈${spelling}`)
}

/** Marks a word of an API name with a symbol that does not occur in words, so that the term never collides with a text term. */
export const apiTerm = (word: string): string => `¶${word}`

/** Returns the terms of API names. Words of one or two letters, such as `of` and `to`, are skipped because they describe nothing. */
function apiTerms(names: readonly string[]): string[] {
  const terms = new Set<string>()
  for (const name of names) {
    for (const term of termsOf(name.slice(0, maxApiNameLength))) {
      if (terms.size >= maxApiTerms) return [...terms]
      if (!isShort(term)) terms.add(apiTerm(term))
    }
  }
  return [...terms]
}

/**
 * Converts a query to terms. Returns null when there is nothing to search for. `imagePicker`, `image-picker` and `image picker` are searched as two
 * words and as one. Words such as `with` and `the` are ignored, unless there are no others.
 */
export function queryTerms(query: string): QueryTerms | null {
  const runs = wordsOf(query.slice(0, maxQueryLength)).slice(0, 2 * maxWords)
  const isIgnored = runs.map((run) => stopWords.has(run.toLowerCase()))
  const areAllIgnored = !isIgnored.includes(false)
  const terms = runs
    .flatMap((run, index) => splitTerms(run).map((term) => ({ term, index, ignored: !areAllIgnored && isIgnored[index] === true })))
    .filter(({ ignored }) => !ignored)
    .slice(0, maxWords)
  if (terms.length === 0) return null
  const words = terms.map(({ term, index }, at): QueryWord => {
    const whole = runs[index]?.toLowerCase() ?? term
    const others = whole !== term && !unspaced.test(whole) ? [whole] : joinedAt(runs, index)
    const prefixes = isShort(term) && at < terms.length - 1 ? [] : stemsOf(term)
    return { exact: [...new Set([term, ...others])], prefixes: [...new Set([...prefixes, ...others.flatMap(stemsOf)])] }
  })
  const named = [runs.flatMap(splitTerms), runs.map((run) => run.toLowerCase())].map((parts) => parts.join('_'))
  return { names: [...new Set(named)], words, namesOnly: terms.every(({ term }) => isShort(term)) }
}

/** Returns the word joined with the word before it and with the word after it. */
function joinedAt(runs: readonly string[], index: number): string[] {
  const joined = [index - 1, index].map((start) => `${runs[start] ?? ' '}${runs[start + 1] ?? ' '}`.toLowerCase())
  return joined.filter(isPairable)
}

/** Returns the query with an alternative spelling added for one word. The typed spelling still matches. */
export function respelled(terms: QueryTerms, index: number, spelling: string): QueryTerms {
  const [typed = ''] = terms.words[index]?.exact ?? []
  const words = terms.words.map((word, at) =>
    at === index ? { exact: [spelling, ...word.exact], prefixes: [...new Set([...stemsOf(spelling), ...word.prefixes])] } : word,
  )
  const asNamed = (name: string) =>
    name
      .split('_')
      .map((part) => (part === typed ? spelling : part))
      .join('_')
  return { ...terms, words, names: [...new Set([...terms.names.map(asNamed), ...terms.names])] }
}

/** Returns the query without these words, which then only make matches better. */
export function withoutWords({ words, leftOut = [], ...terms }: QueryTerms, indexes: readonly number[]): QueryTerms {
  const kept = words.filter((_, index) => !indexes.includes(index))
  const dropped = words.filter((_, index) => indexes.includes(index))
  const names = [...terms.names, kept.map(({ exact: [word = ''] }) => word).join('_')]
  return { names, words: kept, leftOut: [...leftOut, ...dropped], namesOnly: kept.every(({ exact: [word = ''] }) => isShort(word)) }
}

/** Whether any of the terms is the query's word, one of its spellings, or starts like it. */
export const isRelated = ({ exact, prefixes }: QueryWord, terms: readonly string[]): boolean =>
  terms.some((term) => exact.includes(term) || prefixes.some((prefix) => term.startsWith(prefix)))

/**
 * Splits a text into index terms, identically for both databases: lower case, without accents, only letters, digits and marks. Camel-case words are
 * indexed whole and in parts. Chinese and Japanese have no spaces between words and become overlapping pairs of characters.
 */
export function termsOf(text: string): string[] {
  return wordsOf(text).flatMap((run) => {
    const whole = run.toLowerCase()
    const parts = splitTerms(run)
    return parts.length > 1 && !unspaced.test(run) ? [whole, ...parts] : parts
  })
}

function wordsOf(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
  return (plain.match(word) ?? []).filter((run) => unspaced.test(run) || run.length <= maxTermLength)
}

function splitTerms(run: string): string[] {
  if (unspaced.test(run)) return characterPairs(run)
  const parts = (camelCase.test(run) ? run.match(camelPart) : null) ?? [run]
  // Keep `iOS` and `OAuth` whole: a part would have a single letter.
  return (parts.some((part) => part.length < 2) ? [run] : parts).map((part) => part.toLowerCase())
}

const maxQueryLength = 200
const maxWords = 8
/** In UTF-16 code units; the maximum length of a package name. */
const maxTermLength = 64
/** Length of the indexed part of a README, in UTF-16 code units. */
const maxReadmeLength = 65_536
const maxTerms = 3000
const maxApiTerms = 1000
const maxDescriptionTerms = 100
const maxEndorsed = 20
/** Minimum length of a word of a description for correcting to it, and the maximum number of these words. */
const minSpelledLength = 5
const maxSpelled = 20
const maxApiNameLength = 200
/** Minimum length of a name's suffix. Shorter ones match by chance. */
const minPartLength = 4

const word = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]+|[[\p{L}\p{N}\p{M}]--[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]]+/gv
const unspaced = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]/v
const camelCase = /^(?=.*[a-z])(?=.+[A-Z])[A-Za-z0-9]+$/
const camelPart = /[A-Z]+[0-9]*(?![a-z])|[A-Z]?[a-z0-9]+/g

const hyphenated = /(?<![\p{L}\p{N}])[\p{L}\p{N}]+(?:[-‐‑][\p{L}\p{N}]+)+/gu

/** English words that say nothing about a package. */
const stopWords: ReadonlySet<string> = new Set(
  `a about an and are as at be by can for from has have how i if in into is it its my of on or our so some that the their them then there these they
   this those to using was we what when where which while who will with without you your`.split(/\s+/),
)

function characterPairs(run: string): string[] {
  const characters = Array.from(run)
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

const isShort = (term: string) => term.length < 3 && !unspaced.test(term)

/** Returns the name and all its suffixes, so that a prefix search finds any substring of the name. */
function partsOf(joined: string): string[] {
  return [joined, ...Array.from({ length: Math.max(0, joined.length - minPartLength) }, (_, index) => joined.slice(index + 1))]
}

/** Removes the parts of Markdown that are not indexed: URLs and HTML tags. */
export const withoutMarkup = (markdown: string): string => markdown.replace(/https?:\/\/[^\s)>\]]+|<[^<>]{0,500}>/g, ' ')

/** Returns the stems that a word shares with its English plural, singular, participle and gerund. Prefix matching needs no further stemming. */
function stemsOf(term: string): string[] {
  if (!/^[a-z]{4,}$/.test(term)) return [term]
  const singular = singularOf(term)
  // The plural of `library` ends like that of `cookie`.
  if (/[^aeiou]y$/.test(singular)) return [singular, `${singular.slice(0, -1)}ie`]
  const stem = singular.replace(/(?:ing|ed)$/, '').replace(/([bdfgklmnprt])\1$/, '$1')
  return [/(?:ing|ed)$/.test(singular) && stem.length >= 4 ? stem : singular]
}

function singularOf(term: string): string {
  if (term.endsWith('ies')) return `${term.slice(0, -3)}y`
  if (/(?:x|ch|sh|ss|zz|us)es$/.test(term)) return term.slice(0, -2)
  return /[^s]s$/.test(term) ? term.slice(0, -1) : term
}
