import type { ServerResponse } from 'node:http'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { jobHandlers } from '../../server/job-handlers.ts'
import { startWorker, type Worker } from '../../server/platform/jobs/worker.ts'
import { testApp } from '../app.ts'
import { anotherInstance } from '../support/instances.ts'
import { runJobs } from '../support/jobs.ts'
import { dartFiles, zipOf } from '../support/sdk-archives.ts'
import { SdkSite } from '../support/sdk-site.ts'

const installs = '/api/admin/sdk/installs'
const wanted = { version: '3.11.0', channel: 'stable' }
const half = 100_000

async function open(options: Parameters<SdkSite['addDart']>[1] = {}) {
  const site = await SdkSite.open()
  const archive = await zipOf(dartFiles('3.11.0', { ballast: 2 * half }))
  const zip = await site.addDart('3.11.0', { archive, ...options })
  const app = await testApp({ env: site.env, now: new Date('2026-09-01T12:00:00Z') })
  const admin = await app.admin()
  const { id } = (await admin.post(installs, wanted)).body
  const downloads = () =>
    site.requests.filter((one) => one.startsWith(`GET ${zip}`) && !one.endsWith('sum')).map((one) => one.replace(`GET ${zip}`, 'GET'))
  return {
    site,
    zip,
    app,
    admin,
    downloads,
    etag: site.etagOf(zip),
    part: join(app.config.DATA_DIR, 'sdks', `${id}.1`, 'archive.part'),
    progress: async () => (await admin.get(`${installs}/${id}/progress`)).body,
    install: async () => (await admin.get(installs)).body.installs[0],
  }
}

type State = Awaited<ReturnType<typeof open>>

/**
 * Makes the site send the first half of the archive and stall. Later requests are answered normally. Returns a function that breaks the connection.
 */
function stallDownload({ site, zip }: State, headers: Record<string, string>): () => void {
  let held: ServerResponse | undefined
  site.interfere = (request, response, file) => {
    if (held || request.url !== zip || !file) return false
    held = response.writeHead(200, { ...headers, 'content-length': file.length })
    held.write(file.subarray(0, half))
    return true
  }
  return () => held?.destroy()
}

/** Runs the worker until half of the archive is on disk. */
async function downloadHalf({ app, part }: State): Promise<Worker> {
  const worker = startWorker(app.services, jobHandlers(app.services))
  await expect.poll(() => statSync(part, { throwIfNoEntry: false })?.size, { interval: 5 }).toBe(half)
  return worker
}

it('resumes after a broken connection', async () => {
  const state = await open()
  await using _ = state.app
  const breakOff = stallDownload(state, { etag: state.etag })
  const worker = await downloadHalf(state)
  breakOff()
  await worker.settled()
  await worker.stop()
  expect(await state.install()).toMatchObject({ status: 'ready' })
  expect(state.downloads()).toEqual(['GET', `GET bytes=${half}-`])
  expect((await state.progress()).log.join('\n')).toContain('The connection broke after 1 MiB')
})

it.each([
  ['the file has changed', { etag: '"another"' }],
  ['the site sends no strong ETag', { etag: 'W/"weak"' }],
])('starts over when %s', async (_what, headers) => {
  const state = await open()
  await using _ = state.app
  const breakOff = stallDownload(state, headers)
  const worker = await downloadHalf(state)
  breakOff()
  await worker.settled()
  await worker.stop()
  expect(await state.install()).toMatchObject({ status: 'ready' })
  expect(state.downloads()).toHaveLength(2)
})

it('resumes after a stop of the server, on another instance if there is one', async () => {
  const state = await open()
  await using app = state.app
  stallDownload(state, { etag: state.etag })
  const worker = await downloadHalf(state)
  await expect.poll(async () => (await state.progress()).bytesDone).toBe(half)
  expect(await state.progress()).toMatchObject({ status: 'downloading', percent: 49, bytesTotal: expect.any(Number) })
  await worker.stop()
  await using other = await anotherInstance(app)
  await runJobs(other ?? app)
  expect(await state.install()).toMatchObject({ status: 'ready' })
  expect(state.downloads()).toEqual(['GET', `GET bytes=${half}-`])
})

it('fails immediately for an archive with another SHA-256 and deletes it', async () => {
  const state = await open({ sha256: 'a'.repeat(64) })
  await using app = state.app
  await runJobs(app)
  const { status, errorMessage } = await state.install()
  expect({ status, errorMessage }).toMatchObject({
    status: 'failed',
    errorMessage: expect.stringMatching(
      /^The SHA-256 of http.* does not match a{64}, the value published by the archive\. The download was deleted\.$/,
    ),
  })
  expect(readdirSync(join(app.config.DATA_DIR, 'sdks'))).toEqual([])
  expect(state.downloads()).toHaveLength(1)
})

it('fails immediately for a release that disappeared', async () => {
  for (const vanish of ['the archive', 'the release']) {
    const state = await open()
    await using app = state.app
    for (const path of state.site.files.keys()) if (vanish === 'the release' || path === state.zip) state.site.files.delete(path)
    await runJobs(app)
    expect(await state.install()).toMatchObject({
      status: 'failed',
      errorMessage: expect.stringMatching(/^The archive no longer exists: http|^There is no Dart 3\.11\.0 in the channel stable/),
    })
  }
})

it('is retried with growing delays while the site fails, and finally fails', async () => {
  const state = await open()
  await using app = state.app
  state.site.interfere = (request, response) => request.url === state.zip && !!response.writeHead(502).end()
  for (const minutes of [0, 1, 2, 5]) {
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + minutes * 60_000)
    expect(await state.install()).toMatchObject({ status: 'downloading' })
    await runJobs(app)
  }
  expect(await state.install()).toMatchObject({ status: 'failed', errorMessage: expect.stringMatching(/answered 502/) })
  expect(state.downloads()).toHaveLength(4)
})

it('is refused in advance when there is not enough disk space', async () => {
  const state = await open()
  await using app = state.app
  app.services.config.MIN_FREE_BYTES = 2 ** 60
  await runJobs(app)
  expect(await state.install()).toMatchObject({
    status: 'failed',
    errorMessage: expect.stringMatching(/^There is not enough free disk space: about .* MiB are needed and .* MiB are free/),
  })
})
