import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newId } from '../../server/platform/db/base.ts'
import { jobHandlers } from '../../server/job-handlers.ts'
import { Job } from '../../server/platform/jobs/entity.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import { collectSdks } from '../../server/analysis/sdks/installing/install.ts'
import { readySdk } from '../../server/analysis/sdks/ready.ts'
import { type TestApp, testApp } from '../app.ts'
import { subscribeAt } from '../support/events.ts'
import { fakeDart } from '../support/fake-sdk.ts'
import { anotherInstance } from '../support/instances.ts'
import { runJobs } from '../support/jobs.ts'
import { dartFiles, zipOf } from '../support/sdk-archives.ts'
import { SdkSite } from '../support/sdk-site.ts'

const installs = '/api/admin/sdk/installs'
const first = { version: '3.11.0', channel: 'stable' }
const second = { version: '3.12.0', channel: 'stable' }

async function open() {
  const site = await SdkSite.open()
  const zip = await site.addDart('3.11.0')
  await site.addDart('3.12.0')
  const app = await testApp({ env: site.env })
  const admin = await app.admin()
  const install = async (body: object) => {
    const { id } = (await admin.post(installs, body)).body
    await runJobs(app)
    return (await admin.get(installs)).body.installs.find((one: { id: string }) => one.id === id)
  }
  return { site, zip, app, admin, install }
}

const folders = ({ config }: TestApp) => (existsSync(join(config.DATA_DIR, 'sdks')) ? readdirSync(join(config.DATA_DIR, 'sdks')) : [])
const startJobWorker = ({ services }: TestApp) => startWorker(services, jobHandlers(services))

it('is the same installation for all concurrent and later requests', async () => {
  const { site, zip, app, admin } = await open()
  await using _ = app
  const answers = await Promise.all(Array.from({ length: 4 }, () => admin.post(installs, first)))
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201])
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
  await runJobs(app)
  expect(await admin.post(installs, first)).toMatchObject({ status: 201, body: { id: answers[0]?.body.id, status: 'ready' } })
  await runJobs(app)
  expect(site.requests.filter((one) => one === `GET ${zip}`)).toHaveLength(1)
  expect((await admin.get(installs)).body.installs).toHaveLength(1)
})

describe('the default SDK', () => {
  it('is the first of its kind until another one is chosen, which must be ready', async () => {
    const { site, zip, app, admin, install } = await open()
    await using _ = app
    const one = await install(first)
    const two = await install(second)
    expect([one.isDefault, two.isDefault]).toEqual([true, false])
    expect(await admin.post(`${installs}/${two.id}/set-default`)).toMatchObject({ status: 200, body: { id: two.id, isDefault: true } })
    expect((await admin.get(installs)).body.installs).toMatchObject([
      { id: two.id, isDefault: true },
      { id: one.id, isDefault: false },
    ])
    expect(await readySdk(app.services, 'dart')).toMatchObject({ id: two.id })
    expect(await readySdk(app.services, 'flutter')).toBeNull()
    site.files.delete(zip)
    await admin.post(`${installs}/${one.id}/rebuild`)
    expect(await admin.post(`${installs}/${one.id}/set-default`)).toMatchObject({
      status: 409,
      body: { error: { code: 'Conflict', message: 'Dart 3.11.0 is not ready (downloading), so it cannot be the default.' } },
    })
  })

  it('passes to the newest ready installation of its kind when removed', async () => {
    const { app, admin, install } = await open()
    await using _ = app
    const one = await install(first)
    const two = await install(second)
    expect(await admin.delete(`${installs}/${one.id}`)).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect((await admin.get(installs)).body.installs).toMatchObject([{ id: two.id, isDefault: true }])
    expect(await readySdk(app.services, 'dart')).toMatchObject({ id: two.id })
    expect((await admin.get('/api/admin/audit-log?kind=server.sdk_removed')).body.entries).toMatchObject([
      { summary: 'Removed Dart 3.11.0 (stable). Dart 3.12.0 is now the default' },
    ])
    expect(await admin.delete(`${installs}/${two.id}`)).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(await readySdk(app.services, 'dart')).toBeNull()
    expect((await admin.get('/api/admin/sdk/settings')).body).toMatchObject({ scoringEnabled: true, defaultSdk: null })
  })
})

it('is removed with all its files and an audit entry', async () => {
  const { app, admin, install } = await open()
  await using _ = app
  await install(first)
  const { id } = await install(second)
  expect(await admin.delete(`${installs}/${id}`)).toMatchObject({ status: 200, body: { status: 'ok' } })
  await runJobs(app)
  expect(folders(app)).toHaveLength(1)
  expect(await admin.get(`${installs}/${id}/progress`)).toMatchObject({ status: 404 })
  expect(await admin.delete(`${installs}/${id}`)).toMatchObject({ status: 404 })
  expect((await admin.get('/api/admin/audit-log?kind=server.sdk_removed')).body.entries).toMatchObject([
    { agent: { userId: admin.id }, summary: 'Removed Dart 3.12.0 (stable)' },
  ])
  expect(await install(second)).toMatchObject({ status: 'ready' })
})

it.each(['downloading', 'preparing'])('stops when it is removed while %s', async (status) => {
  const { site, zip, app, admin } = await open()
  await using _ = app
  await site.addDart('3.11.0', { archive: await zipOf(dartFiles('3.11.0', { dart: '#!/bin/sh\nsleep 60\n' })) })
  if (status === 'downloading')
    site.interfere = (request, response, file) => {
      if (request.url === zip) response.writeHead(200, { 'content-length': file?.length }).write('PK')
      return request.url === zip
    }
  const { id } = (await admin.post(installs, first)).body
  const worker = startJobWorker(app)
  await expect.poll(async () => (await admin.get(`${installs}/${id}/progress`)).body.status).toBe(status)
  expect(await admin.post(`${installs}/${id}/rebuild`)).toMatchObject({ status: 409 })
  expect(await admin.delete(`${installs}/${id}`)).toMatchObject({ status: 200 })
  await worker.settled()
  await worker.stop()
  expect(folders(app)).toEqual([])
})

it('is rebuilt in a new folder, and the old folder is removed once it is ready', async () => {
  const { site, zip, app, admin, install } = await open()
  await using _ = app
  const { id, path } = await install(first)
  const rebuilt = await admin.post(`${installs}/${id}/rebuild`)
  expect(rebuilt).toMatchObject({ status: 200, body: { id, status: 'downloading', path: null, sizeBytes: null, readyAt: null } })
  expect(await readySdk(app.services, 'dart')).toBeNull()
  await runJobs(app)
  const [now] = (await admin.get(installs)).body.installs
  expect(now).toMatchObject({ id, status: 'ready', isDefault: true })
  expect([now.path === path, existsSync(path), existsSync(now.path)]).toEqual([false, false, true])
  expect(site.requests.filter((one) => one === `GET ${zip}`)).toHaveLength(2)
})

it('fails with a helpful reason and is retried on request', async () => {
  const { site, app, install } = await open()
  await using _ = app
  const wrong = [
    [dartFiles('3.11.0', { dart: fakeDart('3.10.0') }), 'The archive holds Dart 3.10.0, not 3.11.0.'],
    [dartFiles('3.11.0', { dart: '#!/bin/sh\necho "Cannot execute." >&2\nexit 1\n' }), 'It does not run on this machine: Cannot execute.'],
    [[{ path: 'dart-sdk/version', content: '3.11.0' }], 'The archive has no program bin/dart.'],
    [[{ path: 'dart-sdk/../../evil', content: '' }], expect.stringContaining('The archive')],
  ] as const
  for (const [files, errorMessage] of wrong) {
    const stand = files.map((file) => ({ ...file, path: file.path.replace('..', 'xx').replace('..', 'xx') }))
    const zip = Buffer.from((await zipOf(stand)).toString('latin1').replaceAll('xx/xx', '../..'), 'latin1')
    await site.addDart('3.11.0', { archive: zip })
    expect(await install(first)).toMatchObject({ status: 'failed', errorMessage, isDefault: false, path: null })
    expect(folders(app)).toEqual([])
  }
  expect(existsSync(join(app.config.DATA_DIR, 'evil'))).toBe(false)
  await site.addDart('3.11.0')
  expect(await install(first)).toMatchObject({ status: 'ready', errorMessage: null, isDefault: true })
})

it('reports progress to subscribers until it is ready', async () => {
  const { app, admin } = await open()
  await using _ = app
  const { id } = (await admin.post(installs, first)).body
  const query = 'subscription ($id: ID!) { sdkInstallProgress(installId: $id) { installId status percent log } }'
  const address = await app.listen()
  expect((await subscribeAt(address, (await app.member()).secret, query, { id })).status).toBe(403)
  const events = await subscribeAt(address, admin.secret, query, { id })
  expect(await events.next()).toEqual({ data: { sdkInstallProgress: { installId: id, status: 'DOWNLOADING', percent: 0, log: [] } } })
  await runJobs(app)
  for (let event = await events.next(), last; event !== null || last; last = event, event = await events.next())
    if (event === null) return expect(last.data.sdkInstallProgress).toMatchObject({ status: 'READY', percent: 100 })
})

it('removes orphaned folders after an hour and fails installations that repeatedly crashed the server', async () => {
  const { app, admin, install } = await open()
  await using _ = app
  const { id } = await install(first)
  const other = (await admin.post(installs, second)).body
  const root = join(app.config.DATA_DIR, 'sdks')
  const [old, fresh, gone] = [`${newId()}.1`, `${newId()}.1`, '00000000-0000-4000-8000-000000000000.0']
  symlinkSync('nowhere', join(root, gone)) // An unreadable entry, as when another instance is removing it.
  for (const name of [old, fresh, 'notes']) mkdirSync(join(root, name))
  for (const name of [old, 'notes', `${id}.1`]) utimesSync(join(root, name), new Date(0), new Date(0))
  await collectSdks(app.services)
  expect(folders(app).toSorted()).toEqual([`${id}.1`, fresh, gone, 'notes'].toSorted())
  expect((await admin.get(`${installs}/${other.id}/progress`)).body.status).toBe('downloading')
  const error = 'The process ended each time while it ran this job.'
  await app.services.database.fork().nativeUpdate(Job, { subject: other.id }, { state: 'failed', error })
  await collectSdks(app.services)
  expect((await admin.get(installs)).body.installs[0]).toMatchObject({ id: other.id, status: 'failed', errorMessage: error })
})

it('runs on one of several instances and is visible on all', async () => {
  const { site, zip, app, admin } = await open()
  await using _ = app
  await using other = await anotherInstance(app)
  if (!other) return expect(app.config.DB_BACKEND).toBe('sqlite')
  const asked = await Promise.all([admin.post(installs, first), admin.at(other).post(installs, first)])
  expect(asked[0].body.id).toBe(asked[1].body.id)
  await Promise.all([runJobs(app), runJobs(other)])
  expect(site.requests.filter((one) => one === `GET ${zip}`)).toHaveLength(1)
  for (const instance of [app, other]) {
    expect((await admin.at(instance).get(installs)).body.installs).toMatchObject([{ status: 'ready', isDefault: true }])
    expect(await readySdk(instance.services, 'dart')).toMatchObject({ version: '3.11.0' })
  }
  // An instance without the folder on its machine has no SDK.
  await using elsewhere = await testApp({ sameDatabaseAs: app, config: { DATA_DIR: join(app.config.DATA_DIR, 'elsewhere') } })
  expect(await readySdk(elsewhere.services, 'dart')).toBeNull()
  const query = '{ sdkInstalls { status isUsable } }'
  expect((await admin.at(elsewhere).graphql(query)).body.data.sdkInstalls).toEqual([{ status: 'READY', isUsable: false }])
})
