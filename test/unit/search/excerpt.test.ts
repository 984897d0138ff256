import { expect, it } from 'vitest'
import { buildExcerpt, markWords } from '../../../server/registry/search/excerpt.ts'
import { queryTerms } from '../../../server/registry/search/terms.ts'
import { cpuMsOf } from '../../support/cpu-time.ts'

const wordsOf = (query: string) => queryTerms(query)?.words ?? []
const cut = (text: string, query: string) => buildExcerpt(text, wordsOf(query), wordsOf(query))
const joined = (text: string, query: string) =>
  cut(text, query)
    ?.map(({ text: part }) => part)
    .join('')

it('marks whole words only, and beginnings of words', () => {
  const marked = markWords('Start the art of arts, Art-deco, smart ART.', wordsOf('art'))
  expect(marked.filter(({ isMatch }) => isMatch).map(({ text }) => text)).toEqual(['art', 'arts', 'Art', 'ART'])
  expect(marked.map(({ text }) => text).join('')).toBe('Start the art of arts, Art-deco, smart ART.')
})

it('ignores words inside of URLs and HTML tags, as the index does', () => {
  expect(cut('See https://example.com/retry and <img alt="retry">.', 'retry')).toBeNull()
})

it('finds words of languages without spaces', () => {
  expect(cut('これは状態管理のパッケージです', '状態管理')?.some(({ isMatch }) => isMatch)).toBe(true)
})

it('keeps the text of HTML and Markdown as plain text', () => {
  expect(joined('Use `retry` with **care** & [docs](x "y") | a', 'retry')).toBe('Use retry with care & docs a')
})

it.each(['[', '![', '](', '<', '`', '# ', '[a](', 'retr ', 'retry'])('is fast for a text of repeated %j', async (part) => {
  const text = `${part.repeat(65_536 / part.length)} retry`
  expect(await cpuMsOf(() => cut(text, 'retry words'))).toBeLessThan(2000)
})
