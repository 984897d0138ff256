import type { HelpSection } from '../help-pages.ts'

export interface HelpMatch extends HelpSection {
  /** The text around a match, in pieces. Every second piece is a match to highlight. */
  excerpt: string[]
}

/** Length of an excerpt in characters, and how much of it precedes the match. */
const excerptLength = 200
const leadLength = 60

/**
 * Returns the sections that contain, in the heading, the title of the page or the text, a word that begins with each word of the query. Sections
 * with matches in their heading come first, then those with matches in the title of the page.
 */
export function searchHelp(sections: readonly HelpSection[], query: string): HelpMatch[] {
  const words = query.split(/\s+/).filter(Boolean)
  const patterns = words.map((word) => patternOf([word]))
  return sections
    .map((section) => ({ section, score: scoreOf(section, patterns) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ section }) => ({ ...section, excerpt: excerptOf(section.text, words) }))
}

function scoreOf({ heading, title, text }: HelpSection, patterns: RegExp[]): number {
  const weightOf = (pattern: RegExp) => (pattern.test(heading) ? 8 : 0) + (pattern.test(title) ? 4 : 0) + (pattern.test(text) ? 1 : 0)
  const scores = patterns.map(weightOf)
  return scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score, 0)
}

/** Returns the text around the first match of the longest word, because short words match almost everywhere. */
function excerptOf(text: string, words: string[]): string[] {
  const longest = words.reduce((found, word) => (word.length > found.length ? word : found), '')
  const from = text.search(patternOf([longest])) - leadLength
  const start = from > 0 ? text.indexOf(' ', from) + 1 : 0
  const end = start + excerptLength < text.length ? text.lastIndexOf(' ', start + excerptLength) : text.length
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`.split(patternOf(words))
}

/** Returns a pattern that captures any of the words at the beginning of a word. Parts of names, such as BYTES in MAX_BYTES, are words. */
const patternOf = (words: string[]) => new RegExp(`(?<![\\p{L}\\p{N}])(${words.map(escaped).join('|')})`, 'iu')

const escaped = (word: string) => word.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`)
