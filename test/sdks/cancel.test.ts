import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { jobHandlers } from '../../server/job-handlers.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import { type TestApp, testApp } from '../app.ts'
import { anotherInstance } from '../support/instances.ts'
import { runJobs } from '../support/jobs.ts'
import { SdkSite } from '../support/sdk-site.ts'

const installs = '/api/admin/sdk/installs'
const wanted = { version: '3.11.0', channel: 'stable' }
const cancelled = { status: 'failed', errorMessage: 'Cancelled by Ada.' }

async function open() {
  const site = await SdkSite.open()
  const zip = await site.addDart('3.11.0')
  const app = await testApp({ env: site.env })
  const admin = await app.admin({ displayName: 'Ada' })
  const jobs = async (): Promise<{ id: string; state: string }[]> =>
    (await admin.graphql('{ jobs(first: 9, kind: "sdk.install") { nodes { id state } } }')).body.data.jobs.nodes
  const cancel = (id: string | undefined) => admin.graphql(`mutation { cancelJob(input: { id: "${id}" }) }`)
  return {
    site,
    zip,
    app,
    admin,
    jobs,
    cancel,
    install: async () => (await admin.get(installs)).body.installs[0],
    progress: async (id: string) => (await admin.get(`${installs}/${id}/progress`)).body,
  }
}

const folders = ({ config }: TestApp) => (existsSync(join(config.DATA_DIR, 'sdks')) ? readdirSync(join(config.DATA_DIR, 'sdks')) : [])

it('ends with its queued job immediately and can be installed again', async () => {
  const { app, admin, jobs, cancel, install, progress } = await open()
  await using _ = app
  const { id } = (await admin.post(installs, wanted)).body
  const [job] = await jobs()
  expect((await cancel(job?.id)).body.data).toEqual({ cancelJob: true })
  expect(await install()).toMatchObject({ id, ...cancelled, isDefault: false, path: null })
  expect((await progress(id)).log).toEqual(['Cancelled by Ada.'])
  expect(await jobs()).toEqual([])
  // The cleanup of the first installation does not affect the second one.
  expect((await admin.post(installs, wanted)).body).toMatchObject({ id, status: 'downloading', errorMessage: null })
  await runJobs(app)
  expect(await install()).toMatchObject({ id, status: 'ready', isDefault: true })
  expect(folders(app)).toHaveLength(1)
})

it('ends with its running job immediately on any instance and leaves no files', async () => {
  const { site, zip, app, admin, jobs, cancel, install, progress } = await open()
  await using _ = app
  await using other = await anotherInstance(app)
  site.interfere = (request, response, file) => {
    if (request.url === zip) response.writeHead(200, { 'content-length': file?.length }).write('PK')
    return request.url === zip
  }
  const { id } = (await admin.post(installs, wanted)).body
  const { services } = other ?? app
  const worker = startWorker(services, jobHandlers(services))
  await expect.poll(async () => (await progress(id)).bytesDone).toBe(2)
  const [job] = await jobs()
  await cancel(job?.id)
  expect(await install()).toMatchObject({ id, ...cancelled })
  await worker.settled()
  await worker.stop()
  await runJobs(app)
  expect(await install()).toMatchObject({ id, ...cancelled })
  expect((await progress(id)).log.at(-1)).toBe('Cancelled by Ada.')
  expect(await jobs()).toMatchObject([{ state: 'FAILED' }])
  expect(folders(app)).toEqual([])
})

it('fails during a rebuild, too, and remains the default', async () => {
  const { app, admin, jobs, cancel, install } = await open()
  await using _ = app
  await admin.post(installs, wanted)
  await runJobs(app)
  const { id } = await install()
  await admin.post(`${installs}/${id}/rebuild`)
  const [job, earlier] = await jobs()
  expect((await cancel(earlier?.id)).body.errors[0].extensions.code).toBe('Conflict')
  expect(await install()).toMatchObject({ status: 'downloading' })
  await cancel(job?.id)
  expect(await install()).toMatchObject({ id, ...cancelled, isDefault: true, path: null })
  await runJobs(app)
  expect(folders(app)).toEqual([])
})
