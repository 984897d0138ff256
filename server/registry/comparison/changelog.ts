import { compareParsed, parseVersion, type Version } from '../../platform/pub/version.ts'
import { versionIn } from '../packages/versions/releases.ts'

/** The part of a changelog about a range of versions: its Markdown and the versions that have a section in it, in their order. */
export type ChangelogExcerpt = { source: string; versions: string[] }

/**
 * Returns the sections of a Markdown changelog about versions above `after` up to `to`. A section starts with a heading that contains its version.
 * Sections of the highest heading level that names versions count. Returns null without such a section.
 */
export function changelogBetween(source: string, after: string, to: string): ChangelogExcerpt | null {
  const [low, high] = [parseVersion(after), parseVersion(to)]
  if (!low || !high) return null
  const lines = source.split(/\r?\n/)
  const headings = versionHeadings(lines)
  const level = Math.min(...headings.map((heading) => heading.level))
  const sections = headings.filter((heading) => heading.level === level)
  const kept = sections
    .map((section, index) => ({ ...section, end: sections[index + 1]?.line ?? lines.length }))
    .filter(({ version }) => compareParsed(version, low) > 0 && compareParsed(version, high) <= 0)
  if (kept.length === 0) return null
  return {
    source: kept.map(({ line, end }) => lines.slice(line, end).join('\n').trim()).join('\n\n'),
    versions: kept.map(({ version }) => version.text),
  }
}

type Heading = { line: number; level: number; version: Version }

function versionHeadings(lines: readonly string[]): Heading[] {
  const headings: Heading[] = []
  let fence: string | null = null
  for (const [line, text] of lines.entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(text)?.[1]
    if (mark && (fence === null || (mark[0] === fence[0] && mark.length >= fence.length))) fence = fence === null ? mark : null
    if (fence !== null || mark) continue
    const heading = headingAt(lines, line)
    const version = heading && parseVersion(versionIn(heading.text) ?? '')
    if (heading && version) headings.push({ line, level: heading.level, version })
  }
  return headings
}

/** Returns the heading in a line: `## 1.2.0`, or a text underlined with `===` or `---`. */
function headingAt(lines: readonly string[], line: number): { level: number; text: string } | null {
  const text = (lines[line] ?? '').slice(0, maxHeading)
  const [, marks, title] = /^ {0,3}(#{1,6})\s+(.*)$/.exec(text) ?? []
  if (marks !== undefined && title !== undefined) return { level: marks.length, text: title }
  const under = /^ {0,3}(=+|-{2,})\s*$/.exec((lines[line + 1] ?? '').slice(0, maxHeading))?.[1]
  return under && text.trim() ? { level: under.startsWith('=') ? 1 : 2, text } : null
}

/** Headings longer than this name no version. */
const maxHeading = 200
