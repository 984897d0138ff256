/** What the index knows of a package, as terms. */
export type DocumentTerms = { words: string[]; parts: string[]; description: string[]; topics: string[]; all: string[] }

/** A word of a query: itself, and the beginnings of the terms that also match. */
export type QueryWord = { exact: string; prefixes: string[] }

/** A query as terms. `name` is what a package of this name would be called; `namesOnly`: too short to look further. */
export type QueryTerms = { name: string; words: QueryWord[]; namesOnly: boolean }

/** The terms of a package. Those of the name come first, so a long README loses its end and nothing else. */
export function documentTerms(name: string, description: string, topics: readonly string[], readme: string): DocumentTerms {
  const brief = {
    words: termsOf(name),
    parts: partsOf(name.replaceAll('_', '')),
    description: termsOf(description),
    topics: topics.flatMap(termsOf),
  }
  const all = new Set([...brief.words, ...brief.parts, ...brief.description, ...brief.topics])
  for (const term of termsOf(withoutMarkup(readme.slice(0, maxReadmeLength)))) {
    if (all.size >= maxTerms) break
    all.add(term)
  }
  return { ...brief, all: [...all] }
}

/** The terms of what somebody typed, however odd; null when there is nothing in it to search for. */
export function queryTerms(query: string): QueryTerms | null {
  const terms = termsOf(query.slice(0, maxQueryLength)).slice(0, maxWords)
  if (terms.length === 0) return null
  const words = terms.map((exact, index) => ({ exact, prefixes: isShort(exact) && index < terms.length - 1 ? [] : relatives(exact) }))
  return { name: terms.join('_'), words, namesOnly: terms.every(isShort) }
}

/**
 * A text's words as both databases index them: lower case, without accents, nothing but letters, digits and marks.
 * Chinese and Japanese have no blanks between words: they become overlapping pairs of characters.
 */
export function termsOf(text: string): string[] {
  const plain = text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
  return (plain.match(word) ?? []).flatMap((run) => (unspaced.test(run) ? pairs(run) : run.length <= maxTermLength ? run : []))
}

const maxQueryLength = 200
const maxWords = 8
/** In UTF-16 units; as long as a package name may be. */
const maxTermLength = 64
/** In UTF-16 units. */
const maxReadmeLength = 65_536
const maxTerms = 3000
/** Shorter endings of a name would match by chance. */
const minPartLength = 4

const word = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]+|[[\p{L}\p{N}\p{M}]--[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]]+/gv
const unspaced = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー]/v

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
