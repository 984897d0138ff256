import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildPages } from '../../server/analysis/api-pages/build.ts'
import { importDartdoc } from '../../server/analysis/api-pages/dartdoc.ts'
import { packPages } from '../../server/analysis/api-pages/pack.ts'
import type { Api } from '../../server/analysis/dart/api.ts'
import { beginAttempt, type DocsEngine } from '../../server/analysis/docs/service.ts'
import { storePages } from '../../server/analysis/docs/store.ts'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'
import { about, shapes } from './api.ts'

/** Request headers of a browser that opens a page. */
export const docsPage = { headers: { accept: 'text/html,*/*;q=0.8' } }

/** GraphQL query for the state of the documentation of acme's latest version. */
export const docsState =
  '{ package(name: "acme") { latest { apiDocumentation { state url engine engineVersion generatedAt pages error } } } }'

const builtIn = { name: 'built-in', version: '1' } as const

/** Returns a page of the documentation of acme, as the console reads it. `of` is `latest` or `version(version: "1.0.0")`. */
export async function readDocsPage(actor: Actor, path: string, of = 'latest'): Promise<{ path: string; html: string | null } | null> {
  const query = `query ($path: String!) { package(name: "acme") { shown: ${of} { apiDocumentation { page(path: $path) { path anchor isExact url title kind html } } } } }`
  const { body } = await actor.graphql(query, { path })
  return body.data.package?.shown?.apiDocumentation.page ?? null
}

/** Returns the id of a published version. */
export async function versionId(app: TestApp, name: string, version: string): Promise<string> {
  const row = await app.services.database.reads.get<{ id: string }>(
    'select v.id from package_versions v join packages p on p.id = v.package_id where p.name = ? and v.version = ?',
    name,
    version,
  )
  if (!row) throw new Error(`There is no ${name} ${version}`)
  return row.id
}

/** Starts to generate the documentation of a version and returns the attempt number. */
export const beginDocs = (app: TestApp, id: string): Promise<number> => beginAttempt(app.services.database.fork(), id)

/** Generates the documentation pages of an API and stores them for an attempt. */
export const storeDocs = (app: TestApp, id: string, attempt: number, name: string, version: string, api: Api = shapes): Promise<boolean> =>
  storePacked(app, id, attempt, (file) => packPages(buildPages(api, { ...about, name, version }), file))

/** Stores dartdoc output from a folder as the documentation of a published version. */
export async function importDocs(app: TestApp, name: string, version: string, folder: string): Promise<void> {
  const id = await versionId(app, name, version)
  await storePacked(app, id, await beginDocs(app, id), (file) => importDartdoc(folder, { name, version }, file), {
    name: 'dartdoc',
    version: '8.3.0',
  })
}

/** Stores the pages that `pack` writes as the result of an attempt. */
export async function storePacked(
  app: TestApp,
  id: string,
  attempt: number,
  pack: (file: string) => Promise<unknown>,
  engine: DocsEngine = builtIn,
): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'snug-docs-'))
  try {
    const file = join(folder, 'pages')
    await pack(file)
    return await storePages(app.services, id, { attempt, file, engine })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Generates and stores the documentation of a published version. */
export async function documentVersion(app: TestApp, name: string, version: string, api?: Api): Promise<string> {
  const id = await versionId(app, name, version)
  await storeDocs(app, id, await beginDocs(app, id), name, version, api)
  return id
}
