import type { EntityManager } from '@mikro-orm/sql'
import type { Context } from '../../../platform/access/context.ts'
import { batched } from '../../../platform/db/batched.ts'
import { db } from '../../../platform/db/query.ts'
import { readRows } from '../../../platform/db/statements.ts'
import { basePath } from '../../../platform/http/public-url.ts'
import { firstLineAbout } from '../../archive/changelog.ts'
import { languageOfFile } from '../../markdown/languages.ts'
import { insertAddresses, repositoryOf } from '../../markdown/links.ts'
import { imageSettings } from '../../markdown/images.ts'
import { highlightLines, renderText } from '../../markdown/service.ts'
import type { DocumentKind, PackageVersion } from '../entity.ts'
import { pubspecOf } from './pubspec.ts'
import { addReleases } from './releases.ts'

/** Metadata of a version's document. The content is read on demand. */
export type Document = { version: PackageVersion; kind: DocumentKind; path: string; bytes: number }

/** Returns a document of a version, or null. Batched per request. */
export async function findDocument(context: Context, version: PackageVersion, kind: DocumentKind): Promise<Document | null> {
  const row = await loadPlace(context, `${version.id} ${kind}`)
  return row && { version, kind, path: row.path, bytes: row.bytes }
}

/** Returns the text of a document. Throws InvalidInput if the request's text budget is exceeded. */
export async function readSource(context: Context, { version, kind, bytes }: Document): Promise<string> {
  context.budget?.spendText(bytes)
  const row = await loadContent(context, `${version.id} ${kind}`)
  if (!row) throw new Error(`The ${kind} of version ${version.id} is gone`)
  return row.content
}

/**
 * Renders a document, or a part of it (`excerpt`), as sanitized HTML. Texts other than Markdown are one code block. In changelogs, headings of versions
 * say when they were published.
 */
export async function renderVersionDocument(context: Context, document: Document, excerpt?: string): Promise<string> {
  const source = excerpt ?? (await readSource(context, document))
  const { version, path, kind } = document
  if (!isMarkdown(path) && !/^(readme|changelog)$/i.test(path)) return renderSource(context, source, path)
  const html = await renderMarkdownFile(context, version, { path, source })
  return kind === 'changelog' ? addReleases(context, version, html) : html
}

async function renderSource(context: Context, source: string, path: string): Promise<string> {
  const language = languageOfFile(path)
  const lines = await highlightLines(context, { source, path, language })
  return `<div class="code-block"><pre><code${language === null ? '' : ` class="language-${language}"`}>${lines.join('\n')}\n</code></pre></div>`
}

/** Whether a file is Markdown according to its name. */
export const isMarkdown = (path: string): boolean => /\.(md|markdown|mkd)$/i.test(path)

/** Renders a Markdown file of a version as sanitized HTML. Relative links point to its files. Links into its repository name the page of the file. */
export async function renderMarkdownFile(context: Context, version: PackageVersion, { path, source }: Source): Promise<string> {
  const pubspec = pubspecOf(version)
  const { SERVER_URL: serverUrl } = context.config
  const links = { kind: 'package', serverUrl, path, repository: repositoryOf(pubspec), images: imageSettings(context) } as const
  const html = await renderText(context, { source, links })
  return insertAddresses(html, { basePath: basePath(serverUrl), name: pubspec.name, version: version.version })
}
type Source = { path: string; source: string }

const loadPlace = batched(async (em, keys) => {
  const places = documentsBy(keys).select((eb) => ['path', eb.fn<number>('octet_length', ['content']).as('bytes')])
  return byKey(await readRows(em, places))
})
const loadContent = batched(async (em, keys) => byKey(await readRows(em, documentsBy(keys).select('content'))))

/** Selects documents by keys such as `<version id> readme`. */
function documentsBy(keys: readonly string[]) {
  const wanted = Map.groupBy(keys, (key) => key.split(' ')[1] as DocumentKind)
  return db
    .selectFrom('version_documents')
    .select(['version_id', 'kind'])
    .where((eb) => {
      const ids = (group: readonly string[]) => group.map((key) => key.split(' ')[0] ?? '')
      return eb.or(Array.from(wanted, ([kind, group]) => eb.and([eb('kind', '=', kind), eb('version_id', 'in', ids(group))])))
    })
}

const byKey = <Row extends { version_id: string; kind: DocumentKind }>(rows: Row[]): ReadonlyMap<string, Row> =>
  new Map(rows.map((row) => [`${row.version_id} ${row.kind}`, row]))

/** Number of characters of a changelog that are searched: the newest entry comes first. */
const searched = 4000

/** Returns the first line of the changelog about a version as plain text, or null. Batched per request. */
export async function changelogLine(context: Pick<Context, 'em'>, { id, version }: PackageVersion): Promise<string | null> {
  const start = await loadChangelogStart(context, id)
  return start === null ? null : firstLineAbout(start, version)
}

const loadChangelogStart = batched(async (em: EntityManager, ids) => {
  const rows = await readRows(
    em,
    db
      .selectFrom('version_documents')
      .select((eb) => ['version_id', eb.fn<string>('substr', ['content', eb.lit(1), eb.lit(searched)]).as('start')])
      .where('kind', '=', 'changelog')
      .where('version_id', 'in', ids),
  )
  return new Map(rows.map(({ version_id: id, start }) => [id, start]))
})
