import { existsSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readConfig } from '../../server/platform/config/config.ts'
import { openUnlocked } from '../../server/platform/db/open/orm.ts'
import { Job } from '../../server/platform/jobs/entity.ts'
import { testApp } from '../app.ts'
import { fakeDart } from '../support/fake-sdk.ts'
import { runJobs } from '../support/jobs.ts'
import { createDatabase } from '../support/postgres.ts'
import { dartFiles, flutterFiles, tarXzOf, zipOf } from '../support/sdk-archives.ts'
import { SdkSite } from '../support/sdk-site.ts'
import { folderForTest, json, ownersToken, secretForTests, type Server, start } from '../support/server-process.ts'
import { smallVolume } from '../support/small-volume.ts'

const installs = '/api/admin/sdk/installs'
const wanted = { version: '3.11.0', channel: 'stable' }

/** Timeout of one install step. Unpacking runs at the lowest CPU priority, so a step of one second can take over 30 seconds on a busy machine. */
const stepTimeout = 150_000
const killsTimeout = 5 * stepTimeout

/** A fake `dart` that creates a `waiting` file and sleeps when called with the given arguments. It answers all other calls. */
const waitsFor = (args: string): string =>
  fakeDart('3.11.0').replace('case "$*" in', `if [ "$*" = "${args}" ]; then touch "$PUB_CACHE/waiting"; sleep 600; fi\ncase "$*" in`)

/**
 * Kills a server and makes its job runnable at once: expires the lease, which matters on PostgreSQL, and resets the
 * number of interruptions, which would delay the job.
 */
async function kill(server: Server, folder: string, env: Record<string, string>): Promise<void> {
  server.process.kill('SIGKILL')
  await server.exit
  const orm = await openUnlocked(readConfig({ SERVER_URL: server.url, JWT_SECRET: secretForTests, DATA_DIR: folder, ...env }))
  await orm.em.fork().nativeUpdate(Job, { state: 'running' }, { leasedUntil: new Date(0), interruptions: 0 })
  await orm.close(true)
}

async function ownDatabase(): Promise<Record<string, string>> {
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  return { DB_BACKEND: 'postgres', POSTGRES_URL: url }
}

const cases = [
  { kind: 'dart', backend: 'sqlite', version: '3.11.0', program: 'bin/dart' },
  { kind: 'flutter', backend: 'postgres', version: '3.41.0', program: 'bin/cache/dart-sdk/bin/dart' },
] as const

/** Opens a download site with an SDK of many files, whose `dart --version` sleeps. Returns the site and the path of the archive. */
async function siteWith(kind: 'dart' | 'flutter', version: string) {
  const site = await SdkSite.open()
  const options = { ballast: 3_000_000, dart: waitsFor('--version') }
  const many = (top: string) => Array.from({ length: 4000 }, (_, index) => ({ path: `${top}/lib/${index}.dart`, content: 'x' }))
  if (kind === 'dart') {
    const archive = await zipOf([...dartFiles(version, options), ...many('dart-sdk')])
    return { site, path: await site.addDart(version, { archive }) }
  }
  const archive = await tarXzOf([...flutterFiles(version, '3.11.0', options), ...many('flutter')])
  return { site, path: await site.addFlutter(version, '3.11.0', { archive }) }
}

it.each(cases)(
  'resumes the install of $kind when the server is killed in any step, on $backend',
  { timeout: killsTimeout },
  async (given) => {
    const { kind, backend, version, program } = given
    const { site, path } = await siteWith(kind, version)
    let isHeldUp = true
    site.interfere = (request, response, file) => {
      if (!isHeldUp || request.url !== path || !file) return false
      isHeldUp = false
      const headers = { 'content-length': file.length, 'last-modified': 'Thu, 06 Aug 2026 00:00:00 GMT' }
      response.writeHead(200, headers).write(file.subarray(0, 1_000_000))
      return true
    }
    const folder = folderForTest()
    const env = { ...site.env, ...(backend === 'postgres' && (await ownDatabase())) }
    let server = await start(folder, env)
    const headers = { authorization: `Bearer ${await ownersToken(server)}` }
    const { id } = (await json(`${server.url}${installs}`, { kind, version, channel: 'stable' }, headers)).body
    const place = join(folder, 'sdks', `${id}.1`)
    const progress = async () => (await json(`${server.url}${installs}/${id}/progress`, undefined, headers)).body
    const reaches = (expected: object, timeout = stepTimeout) => expect.poll(progress, { timeout, interval: 20 }).toMatchObject(expected)

    await reaches({ status: 'downloading', bytesDone: 1_000_000 })
    await kill(server, folder, env)
    server = await start(folder, env)
    await reaches({ status: 'extracting' })
    await kill(server, folder, env)
    server = await start(folder, env)
    for (const dart of [waitsFor('pub global activate pana'), fakeDart('3.11.0')]) {
      await expect.poll(() => existsSync(join(place, 'pub-cache', 'waiting')), { timeout: stepTimeout, interval: 20 }).toBe(true)
      await kill(server, folder, env)
      rmSync(join(place, 'pub-cache', 'waiting'))
      writeFileSync(join(place, 'sdk', program), dart)
      server = await start(folder, env)
    }
    await reaches({ status: 'ready', percent: 100 })
    expect(site.requests.filter((one) => one.startsWith(`GET ${path}`) && !one.endsWith('sum')).length).toBeLessThanOrEqual(3)
    const [install] = (await json(`${server.url}${installs}`, undefined, headers)).body.installs
    expect(install).toMatchObject({ id, status: 'ready', isDefault: true })
    expect(readdirSync(join(install.path, '..')).toSorted()).toEqual(['pub-cache', 'ready', 'sdk'])
    expect(readdirSync(join(install.path, 'lib')).length).toBeGreaterThan(4000)
  },
)

it('reports a disk that fills up during an install, frees the space, and succeeds when there is enough', async () => {
  const site = await SdkSite.open()
  const zip = await site.addDart('3.11.0', { archive: await zipOf(dartFiles('3.11.0', { ballast: 3_000_000 })) })
  // Without a Content-Length, the server cannot know beforehand that the archive does not fit.
  site.interfere = (request, response, file) => request.url === zip && !!response.writeHead(200, { etag: '"one"' }).end(file)
  const volume = smallVolume(12_000)
  await using app = await testApp({
    env: { ...site.env, DATA_DIR: join(volume, 'data'), SQLITE_PATH: join(folderForTest(), 'registry.sqlite') },
  })
  const admin = await app.admin()
  const free = () => statfsSync(volume).bavail * statfsSync(volume).bsize
  const install = async () => {
    await admin.post(installs, wanted)
    await runJobs(app)
    return (await admin.get(installs)).body.installs[0]
  }
  const before = free()
  const full = { status: 'failed', errorMessage: expect.stringMatching(/not enough free disk space/) }
  writeFileSync(join(volume, 'ballast'), Buffer.alloc(before - 1_500_000))
  expect(await install()).toMatchObject(full)
  writeFileSync(join(volume, 'ballast'), Buffer.alloc(before - 4_500_000))
  expect(await install()).toMatchObject(full)
  rmSync(join(volume, 'ballast'))
  expect(before - free()).toBeLessThan(100_000)
  // An install needs about four times the size of its archive, which exceeds the volume.
  expect(await install()).toMatchObject({ status: 'failed' })
  await site.addDart('3.11.0', { archive: await zipOf(dartFiles('3.11.0', { ballast: 1_000_000 })) })
  expect(await install()).toMatchObject({ status: 'ready', errorMessage: null })
})
