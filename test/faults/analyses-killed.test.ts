import SqliteDatabase from 'better-sqlite3'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { type S3Bucket, s3Bucket } from '../support/s3-service.ts'
import { folderForTest, json, ownersToken, publishTo, type Server, start } from '../support/server-process.ts'

const limitMs = 400_000

/** Changes rows of the database file directly. */
function change(folder: string, sql: string): void {
  const db = new SqliteDatabase(join(folder, 'registry.sqlite'))
  db.exec(sql)
  db.close()
}

/** Blocks all reads of archives. Returns a function that resolves on the next read. */
function holdArchives(bucket: S3Bucket): () => Promise<void> {
  let asked = Promise.withResolvers<void>()
  bucket.fault = ({ operation, key }) => {
    if (operation !== 'GetObject' || !key.startsWith('sha256/')) return null
    asked.resolve()
    return 'silent'
  }
  return async () => {
    await asked.promise
    asked = Promise.withResolvers<void>()
  }
}

const score = async ({ url }: Server, authorization: string, version: string) =>
  (await json(`${url}/api/packages/acme/versions/${version}/score`, undefined, { authorization })).body

it('completes an analysis although three servers were killed while running it', { timeout: limitMs }, async () => {
  await using bucket = await s3Bucket()
  const folder = folderForTest()
  const env = { ...bucket.env, SCORING_ENABLED: 'true' }
  const nextRead = holdArchives(bucket)
  let server = await start(folder, env)
  const authorization = `Bearer ${await ownersToken(server)}`
  await publishTo(server, authorization, await packageArchive({ name: 'acme', version: '1.0.0' }))
  // Otherwise the second and third retry wait for 10 and 40 seconds.
  const hurrying = setInterval(() => change(folder, "update jobs set run_at = 0 where state = 'queued'"), 1000)
  onTestFinished(() => clearInterval(hurrying))
  for (let kill = 0; kill < 3; kill++) {
    await nextRead()
    server.process.kill('SIGKILL')
    await server.exit
    // Otherwise the next server waits for the end of the lease.
    change(folder, 'update jobs set leased_until = 0 where leased_until is not null')
    server = await start(folder, { ...env, SERVER_URL: server.url, LISTEN_PORT: new URL(server.url).port })
  }
  await nextRead()
  bucket.fault = () => null
  await expect.poll(() => score(server, authorization, '1.0.0'), { timeout: 60_000 }).toMatchObject({ status: 'completed' })
})

it('removes leftover files of a killed server on the next start', { timeout: limitMs }, async () => {
  const folder = folderForTest()
  const [jobs, temporary] = [join(folder, 'jobs'), join(folder, 'tmp')]
  mkdirSync(temporary)
  const env = { SCORING_ENABLED: 'true', TMPDIR: temporary }
  const first = await start(folder, env)
  const authorization = `Bearer ${await ownersToken(first)}`
  await publishTo(first, authorization, await packageArchive({ name: 'acme', version: '1.0.0' }))
  await expect.poll(() => score(first, authorization, '1.0.0'), { timeout: 60_000 }).toMatchObject({ status: 'completed' })
  // The worker process stays alive after the analysis and waits for the next version.
  const left = [...readdirSync(jobs), ...readdirSync(temporary)].filter((name) => !name.endsWith('.lock'))
  expect(left).not.toEqual([])
  first.process.kill('SIGKILL')
  await first.exit
  await start(folder, env)
  await expect.poll(() => [...readdirSync(jobs), ...readdirSync(temporary)].filter((name) => left.includes(name))).toEqual([])
})
