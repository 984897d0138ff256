import { diffWordsWithSpace, structuredPatch } from 'diff'

/** `marks` are the ranges of the text, in UTF-16 code units, that differ from the line it replaces or is replaced by. */
export type DiffLine = {
  kind: 'context' | 'added' | 'removed'
  text: string
  marks: [start: number, end: number][]
  /** Whether the file ends with this line, without a line break. */
  hasNoNewline: boolean
}
/** Changed lines with the unchanged lines around them. Line numbers start at 1. */
export type DiffHunk = { oldStart: number; oldLines: number; newStart: number; newLines: number; lines: DiffLine[] }
export type TextDiff = { hunks: DiffHunk[]; added: number; removed: number; isTruncated: boolean }
export type DiffTask = { before: string; after: string; context: number }

/** Maximum number of lines in the result. */
const maxLines = 5000
/** Lines are cut to this number of characters. */
const maxLineLength = 2000
/** Limits for comparing two texts that have little in common. */
const effort = { maxEditLength: 6000, timeout: 1500 }

/** Compares two texts line by line. Returns null if they differ so much that a comparison takes too long. */
export function diffTexts({ before, after, context }: DiffTask): TextDiff | null {
  const hunks = before === '' || after === '' ? wholeFile(before, after) : hunksOf({ before, after, context })
  if (!hunks) return null
  // Line endings are shown only if they differ.
  const shownCr = before.includes('\r\n') === after.includes('\r\n') ? '' : '␍'
  const result: TextDiff = { hunks: [], added: 0, removed: 0, isTruncated: false }
  let left = maxLines
  for (const { lines: raw, ...place } of hunks) {
    const lines = readLines(raw, shownCr)
    result.added += lines.filter(({ kind }) => kind === 'added').length
    result.removed += lines.filter(({ kind }) => kind === 'removed').length
    if (left > 0) result.hunks.push({ ...place, lines: markWords(lines.slice(0, left)) })
    if (lines.length > left) result.isTruncated = true
    left -= lines.length
  }
  return result
}

type RawHunk = Omit<DiffHunk, 'lines'> & { lines: string[] }

const hunksOf = ({ before, after, context }: DiffTask): RawHunk[] | undefined =>
  structuredPatch('', '', before, after, undefined, undefined, { context, ...effort })?.hunks

/** Returns the difference to an empty text, which needs no comparison. */
function wholeFile(before: string, after: string): RawHunk[] {
  const text = before || after
  if (text === '') return []
  const lines = text.split('\n')
  const isEnded = lines.at(-1) === ''
  if (isEnded) lines.pop()
  const [sign, oldLines, newLines] = before ? ['-', lines.length, 0] : ['+', 0, lines.length]
  const raw = [...lines.map((line) => `${sign}${line}`), ...(isEnded ? [] : ['\\ No newline at end of file'])]
  return [{ oldStart: Math.min(1, oldLines), oldLines, newStart: Math.min(1, newLines), newLines, lines: raw }]
}

const kinds = { '+': 'added', '-': 'removed', ' ': 'context' } as const

function readLines(raw: readonly string[], shownCr: string): DiffLine[] {
  const lines: DiffLine[] = []
  for (const line of raw) {
    const kind = kinds[line[0] as keyof typeof kinds]
    const last = lines.at(-1)
    if (kind) lines.push({ kind, text: shorten(line.slice(1).replace(/\r$/, shownCr)), marks: [], hasNoNewline: false })
    else if (last) last.hasNoNewline = true
  }
  return lines
}

const shorten = (text: string): string => (text.length <= maxLineLength ? text : `${text.slice(0, maxLineLength).toWellFormed()}…`)

/** Marks the changed words of lines that replace each other: a removed line, and the added line at the same place after it. */
function markWords(lines: DiffLine[]): DiffLine[] {
  for (let at = 0; at < lines.length;) {
    const removed = run(lines, at, 'removed')
    const added = run(lines, at + removed.length, 'added')
    for (const [index, line] of removed.entries()) if (added[index] && index < maxPairs) markPair(line, added[index])
    at += Math.max(1, removed.length + added.length)
  }
  return lines
}

/** Maximum number of lines in a row whose words are compared. */
const maxPairs = 100
const maxMarkedLength = 500
/** Share of a line that must be unchanged for the rest to be marked. In other lines, everything changed. */
const minShared = 0.3

function run(lines: readonly DiffLine[], from: number, kind: DiffLine['kind']): DiffLine[] {
  let end = from
  while (lines[end]?.kind === kind) end++
  return lines.slice(from, end)
}

function markPair(before: DiffLine, after: DiffLine): void {
  const longer = Math.max(before.text.length, after.text.length)
  if (longer > maxMarkedLength) return
  const parts = diffWordsWithSpace(before.text, after.text, { maxEditLength: 200 })
  const shared = parts?.filter(({ added, removed }) => !added && !removed).reduce((sum, { value }) => sum + value.trim().length, 0)
  if (!parts || !shared || shared < longer * minShared) return
  let [old, current] = [0, 0]
  for (const { value, added, removed } of parts) {
    if (removed) before.marks.push([old, old + value.length])
    if (added) after.marks.push([current, current + value.length])
    if (!added) old += value.length
    if (!removed) current += value.length
  }
}
