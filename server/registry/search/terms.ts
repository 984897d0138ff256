/** The indexed terms of a package. `all` is the union of the other fields, the README's terms, and the API names as encoded by `apiTerm`. */
export type DocumentTerms = { words: string[]; parts: string[]; description: string[]; topics: string[]; all: string[] }

/** A word of a query: the word as typed with its alternative spellings, and prefixes of other matching terms. */
export type QueryWord = { exact: string[]; prefixes: string[] }

/** A query as terms. `names`: package names that the query spells. `namesOnly`: the words are too short for searching other texts. */
export type QueryTerms = { names: string[]; words: QueryWord[]; namesOnly: boolean }

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
  const all = new Set([...brief.words, ...brief.parts, ...brief.description, ...brief.topics])
  for (const term of termsOf(withoutMarkup((readme ?? '').slice(0, maxReadmeLength)))) {
    if (all.size >= maxTerms) break
    all.add(term)
  }
  return { ...brief, all: [...all, ...apiTerms(api)] }
}

/** Formats the terms for scoring (relevance.ts): those of the topics, a line feed, those of the description. */
export const summaryOf = ({ topics, description }: DocumentTerms): string =>
  `${topics.join(' ')}\n${description.slice(0, maxDescriptionTerms).join(' ')}`

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

/** Converts a query to terms. Returns null when there is nothing to search for. `imagePicker` is searched as two words and as one. */
export function queryTerms(query: string): QueryTerms | null {
  const runs = wordsOf(query.slice(0, maxQueryLength)).slice(0, maxWords)
  const terms = runs.flatMap((run) => splitTerms(run).map((term) => ({ term, joined: run.toLowerCase() }))).slice(0, maxWords)
  if (terms.length === 0) return null
  const words = terms.map(({ term, joined }, index): QueryWord => {
    const others = joined !== term && !unspaced.test(joined) ? [joined] : []
    const prefixes = isShort(term) && index < terms.length - 1 ? [] : stemsOf(term)
    return { exact: [term, ...others], prefixes: [...new Set([...prefixes, ...others])] }
  })
  const names = new Set([terms.map(({ term }) => term), runs.map((run) => run.toLowerCase())].map((parts) => parts.join('_')))
  return { names: [...names], words, namesOnly: terms.every(({ term }) => isShort(term)) }
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
const maxApiNameLength = 200
/** Minimum length of a name's suffix. Shorter ones match by chance. */
const minPartLength = 4

const word = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]+|[[\p{L}\p{N}\p{M}]--[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]]+/gv
const unspaced = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]/v
const camelCase = /^(?=.*[a-z])(?=.+[A-Z])[A-Za-z0-9]+$/
const camelPart = /[A-Z]+[0-9]*(?![a-z])|[A-Z]?[a-z0-9]+/g

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
  if (/[^aeiou]y$/.test(singular)) return [singular, `${singular.slice(0, -1)}ies`]
  const stem = singular.replace(/(?:ing|ed)$/, '').replace(/([bdfgklmnprt])\1$/, '$1')
  return [/(?:ing|ed)$/.test(singular) && stem.length >= 4 ? stem : singular]
}

function singularOf(term: string): string {
  if (term.endsWith('ies')) return `${term.slice(0, -3)}y`
  if (/(?:x|ch|sh|ss|zz)es$/.test(term)) return term.slice(0, -2)
  return /[^s]s$/.test(term) ? term.slice(0, -1) : term
}
