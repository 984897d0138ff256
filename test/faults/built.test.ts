import { expect, it, onTestFinished } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { plain } from '../support/pictures.ts'
import { createDatabase } from '../support/postgres.ts'
import { folderForTest, json, ownersToken, publishTo, start } from '../support/server-process.ts'

// The other tests run the sources. The built program must also find modules that it loads on demand and files
// that it locates relative to its sources: migrations, texts, workers and the console.
it.each(['sqlite', 'postgres'])('runs as a built program that finds all modules and files loaded on demand, on %s', async (backend) => {
  const server = await start(folderForTest(), backend === 'postgres' ? await emptyPostgres() : {})
  const authorization = `Bearer ${await ownersToken(server)}`
  const read = async (path: string, accept = '*/*') => {
    const answer = await fetch(server.url + path, { headers: { authorization, accept } })
    return { status: answer.status, type: answer.headers.get('content-type')?.split(';', 1)[0], text: await answer.text() }
  }
  const ask = async (query: string) => (await json(`${server.url}/graphql`, { query }, { authorization })).body

  await publishTo(server, authorization, await packageArchive({ name: 'acme', version: '1.0.0', files: { 'README.md': '# Good **day**' } }))
  expect(await ask('{ package(name: "acme") { latest { readme { html } } } }')).toMatchObject({
    data: { package: { latest: { readme: { html: expect.stringContaining('<strong>day</strong>') } } } },
  })
  expect((await json(`${server.url}/api/admin/stats`, undefined, { authorization })).body).toMatchObject({
    database: { available: true, tables: expect.arrayContaining([expect.objectContaining({ kind: 'table' })]) },
  })
  expect(await read('/api/legal/privacy')).toMatchObject({ status: 200, text: expect.stringContaining('#') })
  expect(await read('/')).toMatchObject({ status: 200, type: 'text/html' })
  expect(await read('/graphql', 'text/html')).toMatchObject({ status: 200, type: 'text/html' })
  expect(await read('/api/docs', 'text/html')).toMatchObject({ status: 200, type: 'text/html' })
  expect(await read('/packages/acme/badges/version.svg')).toMatchObject({ status: 200, type: 'image/svg+xml' })
  expect(await read('/feed.atom')).toMatchObject({ status: 200, type: 'application/atom+xml' })

  const picture = new FormData()
  const bytes = await plain({ width: 20, height: 10 }).png().toBuffer()
  picture.set('file', new Blob([new Uint8Array(bytes)], { type: 'image/png' }), 'picture.png')
  const taken = await fetch(`${server.url}/api/auth/avatar`, { method: 'POST', body: picture, headers: { authorization } })
  expect(taken.status).toBe(200)

  server.process.kill('SIGTERM')
  expect(await server.exit).toBe(0)
})

async function emptyPostgres(): Promise<Record<string, string>> {
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  return { DB_BACKEND: 'postgres', POSTGRES_URL: url }
}
