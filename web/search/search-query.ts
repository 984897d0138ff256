// Search queries contain words and filters such as `sdk:flutter`. The grammar must match the server's.
const filterNames = [
  'publisher',
  'uploader',
  'topic',
  'sdk',
  'platform',
  'license',
  'dependency',
  'is',
  'runtime',
  String.raw`dependency\*`,
]
const filterForm = new RegExp(
  String.raw`(?<!\S)-?(?:(?:${filterNames.join('|')}):(?:"[^"]*"|[^\s"]+)|score:(?:[<>]=?|=)?\d{1,3})(?=\s|$)`,
  'gi',
)

/** A filter in a query. `text` is its original text. */
export interface QueryFilter {
  text: string
  /** Readable label, without the `-` that negates the filter. */
  label: string
  excludes: boolean
}

export const filtersOf = (query: string): QueryFilter[] =>
  Array.from(query.matchAll(filterForm), ([text]) => ({ text, label: filterTitle(text.replace(/^-/, '')), excludes: text.startsWith('-') }))

/** Returns the query without its filters. */
export const wordsOf = (query: string) => collapseSpaces(query.replaceAll(filterForm, ' '))

export const hasFilter = (query: string, text: string) => filtersOf(query).some((filter) => isSame(filter.text, text))

const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
/** Whether adding the filter `text` replaces the filter `found`. Only minimum scores do, because a query has at most one. */
const replaces = (text: string, found: string) => /^score:>=/i.test(text) && /^score:>=/i.test(found)

/** Adds a filter to the query, or removes it if the query contains it. A minimum score replaces an existing one. */
export function toggleFilter(query: string, text: string): string {
  const without = query.replaceAll(filterForm, (found) => (isSame(found, text) || replaces(text, found) ? ' ' : found))
  return collapseSpaces(hasFilter(query, text) ? without : `${without} ${text}`)
}

const collapseSpaces = (query: string) => query.replaceAll(/\s+/g, ' ').trim()

/** Labels of filters. */
export const filterTitles: Record<string, string> = {
  sdk: 'SDK',
  platform: 'Platform',
  publisher: 'Publisher',
  topic: 'Topic',
  license: 'License',
  runtime: 'Runtime',
  score: 'Score',
  is: 'Kind',
}

const valueTitles: Record<string, string> = {
  'sdk:dart': 'Dart',
  'sdk:flutter': 'Flutter',
  'platform:android': 'Android',
  'platform:ios': 'iOS',
  'platform:linux': 'Linux',
  'platform:macos': 'macOS',
  'platform:web': 'Web',
  'platform:windows': 'Windows',
  'license:apache-2.0': 'Apache-2.0',
  'license:bsd-2-clause': 'BSD-2-Clause',
  'license:bsd-3-clause': 'BSD-3-Clause',
  'license:unlicense': 'Unlicense',
  'license:zlib': 'Zlib',
  'license:unknown': 'Not recognized',
  'score:>=90': '9 checks or more',
  'score:>=70': '7 checks or more',
  'score:>=50': '5 checks or more',
  'is:flutter': 'Needs Flutter',
  'is:plugin': 'Flutter plugin',
  'is:discontinued': 'Discontinued',
  'is:retracted': 'Has retracted versions',
  'is:public': 'Public',
  'is:private': 'Private',
  'is:unlisted': 'Unlisted',
  'is:null-safe': 'Null safe',
  'is:dart3-compatible': 'Dart 3 compatible',
  'is:wasm-ready': 'Ready for WebAssembly',
}

/** Returns the label of a filter: `sdk:flutter` → "SDK: Flutter", `is:plugin` → "Flutter plugin". Unknown filters are returned unchanged. */
function filterTitle(text: string): string {
  const [filter = '', value = ''] = text.toLowerCase().split(/:(.*)/)
  if (filter === 'is') return valueTitles[`is:${value}`] ?? text
  return filter in filterTitles && value ? `${filterTitles[filter]}: ${valueTitle(filter, value)}` : text
}

export function valueTitle(filter: string, value: string): string {
  const title = valueTitles[`${filter}:${value}`]
  return title ?? (filter === 'license' ? value.toUpperCase() : value)
}
