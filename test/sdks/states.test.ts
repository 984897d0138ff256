import { expect, it } from 'vitest'
import { installStatuses, SdkInstall } from '../../server/analysis/sdks/entity.ts'
import { thisPlatform } from '../../server/analysis/sdks/platform.ts'
import { testApp } from '../app.ts'
import { SdkSite } from '../support/sdk-site.ts'

const installs = '/api/admin/sdk/installs'
const wanted = { kind: 'dart', version: '3.11.0', channel: 'stable' } as const
const conflict = { status: 409, body: { error: { code: 'Conflict' } } }

async function open() {
  const site = await SdkSite.open()
  await site.addDart('3.11.0')
  const app = await testApp({ env: site.env })
  const em = () => app.services.database.fork()
  const make = async (changes: Partial<SdkInstall>): Promise<string> => {
    const fork = em()
    const install = fork.create(SdkInstall, { ...wanted, platform: thisPlatform().sdkPlatform, ...changes })
    await fork.flush()
    return install.id
  }
  const change = (id: string, changes: Partial<SdkInstall>) => em().nativeUpdate(SdkInstall, { id }, changes)
  return { app, admin: await app.admin(), make, change }
}

it.each(installStatuses)('permits the operations of an installation that is %s', async (status) => {
  const { app, admin, make, change } = await open()
  await using _ = app
  const isOver = status === 'ready' || status === 'failed'
  const id = await make({ status })
  const path = `${installs}/${id}`
  expect((await admin.get(installs)).body.installs).toMatchObject([{ id, status, isDefault: false }])
  const progress = { installId: id, status, percent: status === 'ready' ? 100 : 0, log: [] }
  expect(await admin.get(`${path}/progress`)).toMatchObject({ status: 200, body: progress })
  const asked = { status: 201, body: { id, status: status === 'failed' ? 'downloading' : status } }
  expect(await admin.post(installs, wanted)).toMatchObject(asked)
  await change(id, { status })
  const chosen = status === 'ready' ? { status: 200, body: { id, isDefault: true } } : conflict
  expect(await admin.post(`${path}/set-default`)).toMatchObject(chosen)
  // An installation that was imported must be imported again.
  await change(id, { importedSha256: 'a'.repeat(64) })
  expect(await admin.post(`${path}/rebuild`)).toMatchObject(conflict)
  await change(id, { importedSha256: null })
  const rebuilt = isOver ? { status: 200, body: { id, status: 'downloading', errorMessage: null } } : conflict
  expect(await admin.post(`${path}/rebuild`)).toMatchObject(rebuilt)
  await change(id, { status, isDefault: true })
  expect(await admin.delete(path)).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(await admin.get(`${path}/progress`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
})

it('restarts a failed installation once for concurrent requests', async () => {
  const { app, admin, make } = await open()
  await using _ = app
  const id = await make({ status: 'failed', errorMessage: 'The connection broke.' })
  const answers = await Promise.all(Array.from({ length: 4 }, () => admin.post(installs, wanted)))
  for (const answer of answers) expect(answer.body).toMatchObject({ id, status: 'downloading', errorMessage: null })
  expect((await app.services.database.fork().findOneOrFail(SdkInstall, { id })).generation).toBe(2)
})

it('keeps one default per kind during concurrent changes', async () => {
  const { app, admin, make } = await open()
  await using _ = app
  await make({ status: 'ready', isDefault: true })
  const others = [await make({ status: 'ready', version: '3.12.0' }), await make({ status: 'ready', version: '3.13.0' })]
  const flutter = await make({ status: 'ready', kind: 'flutter', isDefault: true })
  const asked = [...others, ...others, ...others].map((id) => admin.post(`${installs}/${id}/set-default`))
  for (const answer of await Promise.all(asked)) expect(answer).toMatchObject({ status: 200, body: { isDefault: true } })
  const defaults = (await admin.get(installs)).body.installs.filter((one: { isDefault: boolean }) => one.isDefault)
  expect(defaults).toHaveLength(2)
  expect(defaults.map(({ id }: { id: string }) => id)).toContain(flutter)
})

it('keeps one default per kind when defaults are removed concurrently', async () => {
  const { app, admin, make } = await open()
  await using _ = app
  const ids = [await make({ status: 'ready', isDefault: true })]
  for (const version of ['3.12.0', '3.13.0', '3.14.0']) ids.push(await make({ status: 'ready', version }))
  await make({ status: 'downloading', version: '3.15.0' })
  const flutter = await make({ status: 'ready', kind: 'flutter' })
  const answers = await Promise.all(ids.slice(0, 3).map((id) => admin.delete(`${installs}/${id}`)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  const left = (await admin.get(installs)).body.installs as { id: string; isDefault: boolean }[]
  expect(left).toHaveLength(3)
  expect(left.filter(({ isDefault }) => isDefault)).toMatchObject([{ id: ids[3] }])
  expect(left.find(({ id }) => id === flutter)).toMatchObject({ isDefault: false })
})

it('names the SDK that a job installs until the SDK is removed', async () => {
  const { app, admin, change } = await open()
  await using _ = app
  const { id } = (await admin.post(installs, wanted)).body
  const query = '{ jobs(first: 5, kind: "sdk.install") { nodes { sdk { kind version } } } }'
  const sdks = async () => (await admin.graphql(query)).body.data.jobs.nodes.map(({ sdk }: { sdk: object | null }) => sdk)
  expect(await sdks()).toEqual([{ kind: 'DART', version: '3.11.0' }])
  await change(id, { status: 'failed' })
  expect(await admin.delete(`${installs}/${id}`)).toMatchObject({ status: 200 })
  expect(await sdks()).toEqual([null])
})
