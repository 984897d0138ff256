import { builder } from '../../platform/graphql/builder.ts'
import { notNegative } from '../../platform/graphql/connections.ts'
import type { Context } from '../../platform/access/context.ts'
import { FileKindEnum } from '../files/refs.ts'
import { highlightLines } from '../markdown/service.ts'
import type { DiffHunk, DiffLine } from './diff-texts.ts'
import type { FileChange, FileStatus } from './file-changes.ts'
import { type Comparison, diffFile, type FileComparison, type FileDiff } from './service.ts'
import escapeHtml from 'escape-html'

/** Maximum number of changed files that a query returns. */
const maxListed = 3000
/** Maximum number of unchanged lines around each change. */
const maxContext = 1000

const FileStatusEnum = builder.enumType('FileStatus', {
  description: 'How a file differs between two versions.',
  values: {
    ADDED: { value: 'added', description: 'Only the later version has it.' },
    REMOVED: { value: 'removed', description: 'Only the earlier version has it.' },
    MODIFIED: { value: 'modified', description: 'Its content changed.' },
    RENAMED: { value: 'renamed', description: 'It has the same content under another path.' },
  } satisfies Record<Uppercase<FileStatus>, { value: FileStatus; description: string }>,
})

const FileChangeRef = builder.objectRef<FileChange>('FileChange').implement({
  description: 'A file that differs between two versions.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'Path in the archive; for a renamed file the new one.' }),
    previousPath: t.exposeString('previousPath', { nullable: true, description: 'The former path of a renamed file.' }),
    status: t.expose('status', { type: FileStatusEnum, description: 'How it differs.' }),
    kind: t.expose('kind', { type: FileKindEnum, description: 'Kind of the file; for a file in both versions, in the later one.' }),
    bytesBefore: t.expose('before', { type: 'BigInt', nullable: true, description: 'Size before in bytes; null if it was added.' }),
    bytesAfter: t.expose('after', { type: 'BigInt', nullable: true, description: 'Size after in bytes; null if it was removed.' }),
  }),
})

const DiffLineKind = builder.enumType('DiffLineKind', {
  description: 'Kind of a line in a difference.',
  values: {
    CONTEXT: { value: 'context', description: 'Unchanged.' },
    ADDED: { value: 'added', description: 'Only in the later version.' },
    REMOVED: { value: 'removed', description: 'Only in the earlier version.' },
  } satisfies Record<Uppercase<DiffLine['kind']>, { value: DiffLine['kind']; description: string }>,
})

type NumberedLine = DiffLine & { oldLine: number | null; newLine: number | null; html: (context: Context) => Promise<string> }

const DiffLineRef = builder.objectRef<NumberedLine>('DiffLine').implement({
  description: 'A line in a difference.',
  fields: (t) => ({
    kind: t.expose('kind', { type: DiffLineKind, description: 'Kind of the line.' }),
    oldLine: t.exposeInt('oldLine', { nullable: true, description: 'Line number in the earlier version; null if it was added.' }),
    newLine: t.exposeInt('newLine', { nullable: true, description: 'Line number in the later version; null if it was removed.' }),
    text: t.exposeString('text', { description: 'The text, cut to 2,000 characters.' }),
    html: t.string({
      description: 'The text as HTML: tokens are `<span>` elements with classes such as `hl-k`, changed words are `<mark>` elements.',
      resolve: ({ html }, _args, context) => html(context),
    }),
    hasNoNewline: t.exposeBoolean('hasNoNewline', { description: 'Whether the file ends with this line, without a line break.' }),
  }),
})

type NumberedHunk = Omit<DiffHunk, 'lines'> & { lines: NumberedLine[] }

const DiffHunkRef = builder.objectRef<NumberedHunk>('DiffHunk').implement({
  description: 'Changed lines with the unchanged lines around them, as in a unified diff.',
  fields: (t) => ({
    oldStart: t.exposeInt('oldStart', { description: 'Number of the first line in the earlier version.' }),
    oldLines: t.exposeInt('oldLines', { description: 'Number of lines in the earlier version.' }),
    newStart: t.exposeInt('newStart', { description: 'Number of the first line in the later version.' }),
    newLines: t.exposeInt('newLines', { description: 'Number of lines in the later version.' }),
    lines: t.field({ type: [DiffLineRef], extensions: { size: 20 }, description: 'The lines.', resolve: ({ lines }) => lines }),
  }),
})

const FileDiffState = builder.enumType('FileDiffState', {
  description: 'Whether the content of a file was compared, and why not.',
  values: {
    TEXT: { value: 'text', description: 'Compared line by line.' },
    BINARY: { value: 'binary', description: 'Not compared: the file is not UTF-8 text.' },
    TOO_LARGE: { value: 'too_large', description: 'Not compared: the file is larger than 512 KiB.' },
    TOO_DIFFERENT: { value: 'too_different', description: 'Not compared: the contents have so little in common that it takes too long.' },
  } satisfies Record<Uppercase<FileDiff['state']>, { value: FileDiff['state']; description: string }>,
})

const FileDiffRef = builder.objectRef<FileDiff>('FileDiff').implement({
  description: 'Differences in the content of a file.',
  fields: (t) => ({
    change: t.expose('change', { type: FileChangeRef, description: 'The changed file.' }),
    state: t.expose('state', { type: FileDiffState, description: 'Whether the content was compared.' }),
    addedLines: t.int({ description: 'Number of added lines.', resolve: (file) => (file.state === 'text' ? file.diff.added : 0) }),
    removedLines: t.int({ description: 'Number of removed lines.', resolve: (file) => (file.state === 'text' ? file.diff.removed : 0) }),
    isTruncated: t.boolean({
      description: 'Whether `hunks` contain only the first 5,000 lines.',
      resolve: (file) => file.state === 'text' && file.diff.isTruncated,
    }),
    hunks: t.field({
      type: [DiffHunkRef],
      extensions: { size: 5 },
      description: 'The differences, in order. Empty unless `state` is TEXT.',
      resolve: (file) => (file.state === 'text' ? numbered(file) : []),
    }),
  }),
})

/** Adds line numbers and HTML to the lines. Both sides are highlighted when the HTML of a line is requested for the first time. */
function numbered({ diff, before, after, change }: FileDiff & { state: 'text' }): NumberedHunk[] {
  const highlighted = once((context) =>
    Promise.all([
      highlightLines(context, { source: before, path: change.previousPath ?? change.path }),
      highlightLines(context, { source: after, path: change.path }),
    ]),
  )
  const htmlOf = async (line: DiffLine, old: number, current: number, context: Context) => {
    const [oldLines, newLines] = await highlighted(context)
    const html = line.kind === 'removed' ? oldLines[old - 1] : newLines[current - 1]
    // A line whose text was cut or has a visible line ending is not in the file as such.
    return html === undefined || /[…␍]$/u.test(line.text) ? markText(line.text, line.marks) : markHtml(html, line.marks)
  }
  return diff.hunks.map(({ lines, ...hunk }) => {
    let [old, current] = [hunk.oldStart, hunk.newStart]
    return {
      ...hunk,
      lines: lines.map((line) => {
        const [oldLine, newLine] = [line.kind === 'added' ? null : old++, line.kind === 'removed' ? null : current++]
        return { ...line, oldLine, newLine, html: (context) => htmlOf(line, oldLine ?? 0, newLine ?? 0, context) }
      }),
    }
  })
}

function once<Value>(work: (context: Context) => Promise<Value>): (context: Context) => Promise<Value> {
  let result: Promise<Value> | undefined
  return (context) => (result ??= work(context))
}

/** The changed files of a comparison. */
export const FilesRef = builder.objectRef<FileComparison & { comparison: Comparison }>('FileComparison').implement({
  description: 'Differences between the files of two versions.',
  fields: (t) => ({
    bytesBefore: t.expose('before', { type: 'BigInt', description: 'Total size of the files in the earlier version, in bytes.' }),
    bytesAfter: t.expose('after', { type: 'BigInt', description: 'Total size of the files in the later version, in bytes.' }),
    totalCount: t.int({ description: 'Number of changed files.', resolve: ({ changes }) => changes.length }),
    changes: t.field({
      type: [FileChangeRef],
      extensions: { size: 100 },
      description: `The first ${maxListed.toLocaleString('en')} changed files, by path.`,
      resolve: ({ changes }) => changes.slice(0, maxListed),
    }),
    diff: t.field({
      type: FileDiffRef,
      nullable: true,
      extensions: { cost: 100 },
      description: 'Differences in the content of a changed file. Null if no changed file has this path.',
      args: {
        path: t.arg.string({ required: true, description: 'Path of the changed file; for a renamed file the new one.' }),
        context: t.arg.int({
          defaultValue: 3,
          description: `Number of unchanged lines around each change, at most ${maxContext.toLocaleString('en')}.`,
          validate: notNegative,
        }),
      },
      resolve: ({ comparison }, { path, context: lines }, context) => diffFile(context, comparison, path, Math.min(lines ?? 3, maxContext)),
    }),
  }),
})

/** Wraps ranges of the text in `<mark>`. `html` is escaped text with well-formed tags; the ranges are in UTF-16 code units of its text, in order. */
function markHtml(html: string, ranges: readonly (readonly [start: number, end: number])[]): string {
  if (ranges.length === 0) return html
  let [result, at, index, isOpen] = ['', 0, 0, false]
  for (const [token] of html.matchAll(/<[^>]*>|&[^;]{1,10};|[^<&]/gsu)) {
    if (token.startsWith('<')) {
      // A mark never spans a tag, so that the result is well-formed.
      if (isOpen) result += '</mark>'
      isOpen = false
      result += token
      continue
    }
    if (isOpen && at >= (ranges[index]?.[1] ?? 0)) {
      result += '</mark>'
      isOpen = false
    }
    while (at >= (ranges[index]?.[1] ?? Infinity)) index++
    if (!isOpen && at >= (ranges[index]?.[0] ?? Infinity)) {
      result += '<mark>'
      isOpen = true
    }
    result += token
    at += token.startsWith('&') ? 1 : token.length
  }
  return isOpen ? `${result}</mark>` : result
}

/** Returns a text as HTML with marked ranges. */
const markText = (text: string, ranges: Parameters<typeof markHtml>[1]): string => markHtml(escapeHtml(text), ranges)
