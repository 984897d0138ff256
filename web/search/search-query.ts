// What is typed into a search box holds words and filters such as `sdk:flutter`. The server knows the same grammar.
const filterNames = ['publisher', 'uploader', 'topic', 'sdk', 'platform', 'license', 'dependency', 'is']
const filterForm = new RegExp(String.raw`(?<!\S)-?(?:${filterNames.join('|')}):(?:"[^"]*"|[^\s"]+)(?=\s|$)`, 'gi')

/** A filter of a query, as it is written. */
export interface QueryFilter {
  text: string
  label: string
  excludes: boolean
}

export const filtersOf = (query: string): QueryFilter[] =>
  Array.from(query.matchAll(filterForm), ([text]) => ({ text, label: text.replace(/^-/, ''), excludes: text.startsWith('-') }))

/** The words beside the filters. */
export const wordsOf = (query: string) => tidy(query.replaceAll(filterForm, ' '))

export const hasFilter = (query: string, text: string) =>
  filtersOf(query).some((filter) => filter.text.toLowerCase() === text.toLowerCase())

/** The query with the filter, or without it when it has it. */
export const toggleFilter = (query: string, text: string) =>
  hasFilter(query, text)
    ? tidy(query.replaceAll(filterForm, (found) => (found.toLowerCase() === text.toLowerCase() ? ' ' : found)))
    : tidy(`${query} ${text}`)

const tidy = (query: string) => query.replaceAll(/\s+/g, ' ').trim()

/** What filters and their values are called for people. */
export const filterTitles: Record<string, string> = {
  sdk: 'SDK',
  platform: 'Platform',
  publisher: 'Publisher',
  topic: 'Topic',
  license: 'License',
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
  'license:unknown': 'Unknown',
  'is:flutter': 'Needs Flutter',
  'is:plugin': 'Flutter plugin',
  'is:discontinued': 'Discontinued',
  'is:retracted': 'Has retracted versions',
  'is:public': 'Public',
  'is:private': 'Private',
  'is:unlisted': 'Unlisted',
}

export function valueTitle(filter: string, value: string): string {
  const title = valueTitles[`${filter}:${value}`]
  return title ?? (filter === 'license' ? value.toUpperCase() : value)
}
