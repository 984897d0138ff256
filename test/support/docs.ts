import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildPages } from '../../server/api-pages/build.ts'
import { importDartdoc } from '../../server/api-pages/dartdoc.ts'
import { packPages } from '../../server/api-pages/pack.ts'
import type { Api } from '../../server/dart/api.ts'
import { beginAttempt } from '../../server/docs/service.ts'
import { storePages } from '../../server/docs/store.ts'
import type { TestApp } from '../app.ts'
import { about, shapes } from './api.ts'

/** What a browser sends along when it wants a page. */
export const docsPage = { headers: { accept: 'text/html,*/*;q=0.8' } }

/** Asks GraphQL how far the documentation of acme's latest version is. */
export const docsState =
  '{ package(name: "acme") { latest { apiDocumentation { state url engine engineVersion generatedAt pages error } } } }'

const engine = { name: 'built-in', version: '1' } as const

/** The id of a published version. */
export async function versionId(app: TestApp, name: string, version: string): Promise<string> {
  const row = await app.services.database.reads.get<{ id: string }>(
    'select v.id from package_versions v join packages p on p.id = v.package_id where p.name = ? and v.version = ?',
    name,
    version,
  )
  if (!row) throw new Error(`There is no ${name} ${version}`)
  return row.id
}

/** Begins to document a version; gives the number of the attempt. */
export const beginDocs = (app: TestApp, id: string): Promise<number> => beginAttempt(app.services.database.fork(), id)

/** Makes pages of an API and stores them as an attempt's. */
export const storeDocs = (app: TestApp, id: string, attempt: number, name: string, version: string, api: Api = shapes): Promise<boolean> =>
  storePacked(app, id, attempt, (file) => packPages(buildPages(api, { ...about, name, version }), file))

/** Gives a published version what dartdoc wrote into a folder. */
export async function importDocs(app: TestApp, name: string, version: string, folder: string): Promise<void> {
  const id = await versionId(app, name, version)
  await storePacked(app, id, await beginDocs(app, id), (file) => importDartdoc(folder, { name, version }, file))
}

/** Stores what `pack` writes as an attempt's pages. */
export async function storePacked(app: TestApp, id: string, attempt: number, pack: (file: string) => Promise<unknown>): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'snug-docs-'))
  try {
    const file = join(folder, 'pages')
    await pack(file)
    return await storePages(app.services, id, { attempt, file, engine })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Gives a published version documentation. */
export async function documentVersion(app: TestApp, name: string, version: string, api?: Api): Promise<string> {
  const id = await versionId(app, name, version)
  await storeDocs(app, id, await beginDocs(app, id), name, version, api)
  return id
}
