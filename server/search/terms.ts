/** What the index knows of a package, as terms. `all` is what is found anywhere: the others, the README, and the API as `apiTerm` marks it. */
export type DocumentTerms = { words: string[]; parts: string[]; description: string[]; topics: string[]; all: string[] }

/** A word of a query: itself as typed, with alternative spellings of it, and the beginnings of the terms that also match. */
export type QueryWord = { exact: string[]; prefixes: string[] }

/** A query as terms. `names` is what a package of this name would be called; `namesOnly`: too short to look further. */
export type QueryTerms = { names: string[]; words: QueryWord[]; namesOnly: boolean }

/** The texts of a package that words are looked for in. `api`: the names that its public API declares. */
export type IndexedTexts = { name: string; description: string; topics: readonly string[]; readme: string | null; api?: readonly string[] }

/** The terms of a package. Those of the name come first, so a long README loses its end and nothing else. */
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

/** The terms of topics and description as one text, which scoring reads (relevance.ts): those of topics, a line feed, those of the description. */
export const summaryOf = ({ topics, description }: DocumentTerms): string =>
  `${topics.join(' ')}\n${description.slice(0, maxDescriptionTerms).join(' ')}`

/**
 * What a word and each of its typing mistakes have in common, as terms of the index: the word, and what is left of it without any one letter. Two
 * words that are one letter apart share one of these (symmetric delete spelling correction).
 */
export function spellingTerms(word: string): string[] {
  if (!/^[a-z]{3,20}$/.test(word)) return []
  const shorter = Array.from(word, (_, index) => word.slice(0, index) + word.slice(index + 1))
  return [...new Set([word, ...shorter])].map((spelling) => `≈${spelling}`)
}

/** A word of an API's name as a term of the index. No text has such a term, since the sign is not part of words. */
export const apiTerm = (word: string): string => `¶${word}`

/** Words of one or two letters, such as `of` and `to`, say nothing about an API. */
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

/** The terms of what was typed, however odd; null when there is nothing in it to search for. `imagePicker` is two words, or one. */
export function queryTerms(query: string): QueryTerms | null {
  const runs = runsOf(query.slice(0, maxQueryLength)).slice(0, maxWords)
  const terms = runs.flatMap((run) => splitTerms(run).map((term) => ({ term, joined: run.toLowerCase() }))).slice(0, maxWords)
  if (terms.length === 0) return null
  const words = terms.map(({ term, joined }, index): QueryWord => {
    const others = joined !== term && !unspaced.test(joined) ? [joined] : []
    const prefixes = isShort(term) && index < terms.length - 1 ? [] : relatives(term)
    return { exact: [term, ...others], prefixes: [...new Set([...prefixes, ...others])] }
  })
  const names = new Set([terms.map(({ term }) => term), runs.map((run) => run.toLowerCase())].map((parts) => parts.join('_')))
  return { names: [...names], words, namesOnly: terms.every(({ term }) => isShort(term)) }
}

/** The same query with another spelling of one of its words. What the typed spelling finds is still found. */
export function respelled(terms: QueryTerms, index: number, spelling: string): QueryTerms {
  const [typed = ''] = terms.words[index]?.exact ?? []
  const words = terms.words.map((word, at) =>
    at === index ? { exact: [spelling, ...word.exact], prefixes: [...new Set([...relatives(spelling), ...word.prefixes])] } : word,
  )
  const asNamed = (name: string) =>
    name
      .split('_')
      .map((part) => (part === typed ? spelling : part))
      .join('_')
  return { ...terms, words, names: [...new Set([...terms.names.map(asNamed), ...terms.names])] }
}

/**
 * A text's words as both databases index them: lower case, without accents, nothing but letters, digits and marks. Words in camel case count
 * whole and in parts. Chinese and Japanese have no blanks between words: they become overlapping pairs of characters.
 */
export function termsOf(text: string): string[] {
  return runsOf(text).flatMap((run) => {
    const whole = run.toLowerCase()
    const parts = splitTerms(run)
    return parts.length > 1 && !unspaced.test(run) ? [whole, ...parts] : parts
  })
}

/** The words of a text, with their capitals. */
function runsOf(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
  return (plain.match(word) ?? []).filter((run) => unspaced.test(run) || run.length <= maxTermLength)
}

function splitTerms(run: string): string[] {
  if (unspaced.test(run)) return pairs(run)
  const parts = (camelCase.test(run) ? run.match(camelPart) : null) ?? [run]
  // `iOS` and `OAuth` are words of their own.
  return (parts.some((part) => part.length < 2) ? [run] : parts).map((part) => part.toLowerCase())
}

const maxQueryLength = 200
const maxWords = 8
/** In UTF-16 units; as long as a package name may be. */
const maxTermLength = 64
/** In UTF-16 units. */
const maxReadmeLength = 65_536
const maxTerms = 3000
const maxApiTerms = 1000
const maxDescriptionTerms = 100
const maxApiNameLength = 200
/** Shorter endings of a name would match by chance. */
const minPartLength = 4

const word = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]+|[[\p{L}\p{N}\p{M}]--[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]]+/gv
const unspaced = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]/v
const camelCase = /^(?=.*[a-z])(?=.+[A-Z])[A-Za-z0-9]+$/
const camelPart = /[A-Z]+[0-9]*(?![a-z])|[A-Z]?[a-z0-9]+/g

function pairs(run: string): string[] {
  const characters = Array.from(run)
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

const isShort = (term: string) => term.length < 3 && !unspaced.test(term)

/** The name in one piece and all its endings: the beginning of an ending is any piece of the name. */
function partsOf(joined: string): string[] {
  return [joined, ...Array.from({ length: Math.max(0, joined.length - minPartLength) }, (_, index) => joined.slice(index + 1))]
}

/** Addresses and tags say nothing about a package. */
const withoutMarkup = (markdown: string) => markdown.replace(/https?:\/\/[^\s)>\]]+|<[^<>]{0,500}>/g, ' ')

/** Beginnings that a word shares with its English plural, singular, participle or gerund; matching beginnings needs no more of a stemmer. */
function relatives(term: string): string[] {
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
