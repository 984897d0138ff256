import { builder } from '../../platform/graphql/builder.ts'
import type { Context } from '../../platform/access/context.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { highlightLines } from '../markdown/service.ts'
import type { PackageVersion } from '../packages/entity.ts'
import { ofPublicVersion, PackageVersionRef } from '../packages/refs.ts'
import { isMarkdown, renderMarkdownFile } from '../packages/versions/documents.ts'
import { pubspecOf } from '../packages/versions/pubspec.ts'
import { FileKindEnum } from './refs.ts'
import { listFiles, type PackageFile, readPackageFile } from './service.ts'

/** Maximum number of files that a query lists. */
const maxListed = 10_000
/** Maximum size of a file in bytes whose text a query returns. */
const maxTextBytes = 512 * 1024
/** Maximum number of lines of such a file. */
const maxLines = 10_000

type Listed = { version: PackageVersion; file: PackageFile }
/** `text` is null if the file is not text, or too large. */
type Content = Listed & { text: string | null }

const FileRef = builder.objectRef<Listed>('PackageFile').implement({
  description: 'A file in the archive of a version.',
  fields: (t) => ({
    path: t.string({ description: 'Path in the archive.', resolve: ({ file }) => file.path }),
    bytes: t.field({ type: 'BigInt', description: 'Size in bytes.', resolve: ({ file }) => file.bytes }),
    kind: t.field({ type: FileKindEnum, description: 'Kind of the file.', resolve: ({ file }) => file.kind }),
    sha256: t.string({ description: 'SHA-256 of the content, in hex.', resolve: ({ file }) => file.sha256 }),
  }),
})

const ListRef = builder.objectRef<Listed[]>('PackageFiles').implement({
  description: 'The files in the archive of a version.',
  fields: (t) => ({
    totalCount: t.int({ description: 'Number of files.', resolve: (files) => files.length }),
    bytes: t.field({
      type: 'BigInt',
      description: 'Total size in bytes.',
      resolve: (files) => files.reduce((sum, { file }) => sum + file.bytes, 0),
    }),
    nodes: t.field({
      type: [FileRef],
      extensions: { size: 200 },
      description: `The first ${maxListed.toLocaleString('en')} files, by path.`,
      resolve: (files) => files.slice(0, maxListed),
    }),
  }),
})

const ContentRef = builder.objectRef<Content>('PackageFileContent').implement({
  description: 'A file in the archive of a version, with its content.',
  fields: (t) => ({
    file: t.field({ type: FileRef, description: 'The file.', resolve: (content) => content }),
    mediaType: t.string({
      description: 'Media type, determined by the content, such as `image/png`; `text/plain` for text.',
      resolve: ({ file }) => file.mediaType,
    }),
    url: t.field({ type: 'URL', description: 'URL of the file itself.', resolve: urlOf }),
    text: t.string({
      nullable: true,
      description: 'The text. Null if the file is not text, or has more than 512 KiB or 10,000 lines. SVG images are text, too.',
      resolve: ({ text }) => text,
    }),
    lines: t.stringList({
      nullable: true,
      extensions: { cost: 10 },
      description: 'The text as HTML, line by line: tokens are `<span>` elements with classes such as `hl-k`. Null if `text` is.',
      resolve: ({ text, file: { path } }, _args, context) => (text === null ? null : highlightLines(context, { source: text, path })),
    }),
    html: t.string({
      nullable: true,
      extensions: { cost: 10 },
      description: 'A Markdown file as sanitized HTML, as in `PackageDocument.html`. Null for other files, or if `text` is.',
      resolve: ({ version, text, file: { path } }, _args, context) =>
        text === null || !isMarkdown(path) ? null : renderMarkdownFile(context, version, { path, source: text }),
    }),
  }),
})

builder.objectFields(PackageVersionRef, (t) => ({
  files: t.field({
    ...ofPublicVersion,
    type: ListRef,
    extensions: { cost: 100 },
    description: 'The files in the archive.',
    resolve: async (version, _args, context) => (await listFiles(context, version)).map((file) => ({ version, file })),
  }),
  file: t.field({
    ...ofPublicVersion,
    type: ContentRef,
    nullable: true,
    extensions: { cost: 100 },
    description: 'A file in the archive. Null if there is no file at this path.',
    args: { path: t.arg.string({ required: true, description: 'Path in the archive, such as `lib/main.dart`.' }) },
    resolve: (version, { path }, context) => readContent(context, version, path),
  }),
}))

async function readContent(context: Context, version: PackageVersion, path: string): Promise<Content | null> {
  const found = await readPackageFile(context, version, path, maxTextBytes)
  if (!found) return null
  const { file, content } = found
  const isText = file.kind === 'text' || file.mediaType === 'image/svg+xml'
  if (!isText || file.bytes > maxTextBytes) return { version, file, text: null }
  context.budget?.spendText(file.bytes)
  return { version, file, text: linesIn(content) > maxLines ? null : content.toString() }
}

function linesIn(content: Buffer): number {
  let lines = 1
  for (let at = content.indexOf(10); at >= 0; at = content.indexOf(10, at + 1)) lines++
  return lines
}

function urlOf({ version, file }: Listed, _args: object, { request, config }: Context): string {
  const path = file.path.split('/').map(encodeURIComponent).join('/')
  return `${publicUrl(request, config.SERVER_URL)}/raw/${pubspecOf(version).name}/${encodeURIComponent(version.version)}/${path}`
}
