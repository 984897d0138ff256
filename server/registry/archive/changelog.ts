const maxLength = 200

/** Returns the first line of text below the heading that names the version. Headings below it, such as "Added", are skipped. */
export function firstLineAbout(changelog: string, version: string): string | null {
  const lines = changelog.split(/\r?\n/)
  const start = lines.findIndex((line, index) => levelOf(lines, index) > 0 && names(line, version))
  if (start === -1) return null
  const level = levelOf(lines, start)
  for (let index = start + 1; index < lines.length; index++) {
    const below = levelOf(lines, index)
    if (below > 0 && below <= level) return null
    const text = plainText(lines[index] ?? '')
    if (below === 0 && /[\p{L}\p{N}]/u.test(text)) return text.length > maxLength ? `${text.slice(0, maxLength - 1).trimEnd()}…` : text
  }
  return null
}

/** Returns the level of the Markdown heading at a line, from 1 to 6; 0 for other lines. */
function levelOf(lines: readonly string[], index: number): number {
  const marks = /^ {0,3}(#{1,6})(?:\s|$)/.exec(lines[index] ?? '')?.[1]
  if (marks) return marks.length
  if ((lines[index] ?? '').trim() === '') return 0
  const underline = /^ {0,3}(=+|-{2,})\s*$/.exec(lines[index + 1] ?? '')?.[1]
  return underline ? (underline.startsWith('=') ? 1 : 2) : 0
}

/** Whether a heading contains the version and not only a longer one, such as 1.2.0 in 11.2.0 or 1.2.0-dev. */
function names(heading: string, version: string): boolean {
  const at = heading.indexOf(version)
  return (
    at !== -1 &&
    !/[\w.+-]/.test(heading.slice(0, at).replace(/v$/i, '').slice(-1)) &&
    !/^(?:[\w+-]|\.\d)/.test(heading.slice(at + version.length))
  )
}

/** Longer lines are cut off before their Markdown is removed. */
const maxLine = 1000

/** Removes the Markdown of a line: list markers, links, emphasis and code. */
const plainText = (line: string): string =>
  line
    .replace(/^\s*(?:[-*+>]|\d+[.)])\s+(?:\[[ x]\]\s+)?/i, '')
    .slice(0, maxLine)
    .replace(/!?\[([^[\]]{0,200})\](?:\([^()]{0,200}\)|\[[^[\]]{0,200}\])/g, '$1')
    .replace(/<[^<>]{0,200}>/g, '')
    .replace(/[`*]|__/g, '')
    .trim()
