import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { restoreBackup } from '../../server/operations/backup/restore/restore.ts'
import { mirrorFiles } from '../../server/registry/mirror/entries.ts'
import type { Actor } from '../actor.ts'
import { testApp } from '../app.ts'
import { admin, adminJson } from '../support/admin.ts'
import { backUp, emptyPlace, folderOfTest } from '../support/backups.ts'
import { publishOwn } from '../support/mirror.ts'
import { Upstream } from '../support/upstream.ts'

const paths = ['packages/intl', 'packages/intl/advisories', 'packages/intl/score', 'archives/intl-1.0.0.tar.gz']

async function readAll(reader: Actor): Promise<string[]> {
  const answers = []
  for (const path of paths) answers.push(await reader.get(`/mirror/api/${path}`))
  expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200))
  return answers.map(({ raw }) => raw.toString('base64'))
}

async function filesOf(app: Awaited<ReturnType<typeof testApp>>): Promise<string[]> {
  const files = []
  for await (const { sha256 } of (await mirrorFiles.store(app.services)).list()) files.push(sha256)
  return files
}

it('leaves the files of the mirror out of backups, and fetches them again after a restore', async () => {
  const upstream = await Upstream.start()
  upstream.publish('intl', '1.0.0')
  upstream.advise('intl', { affected: ['0.1.0'] })
  await using app = await testApp({ env: { UPSTREAM_URL: upstream.url } })
  const member = await app.member()
  await publishOwn(app, member, { name: 'ours', version: '1.0.0' })
  const before = await readAll(member)
  expect(await filesOf(app)).toHaveLength(paths.length)
  const folder = folderOfTest()
  expect((await backUp(app, folder)).manifest.blobs).toMatchObject({ count: 1, lacking: [] })
  const place = await emptyPlace(app)
  await restoreBackup(place, folder)
  await using restored = await testApp({ sameDatabaseAs: app, config: place })
  expect(await filesOf(restored)).toEqual([])
  const requests = upstream.count()
  const reader = restored.withToken(member.secret ?? '')
  expect(await readAll(reader)).toEqual(before)
  expect(upstream.count()).toBeGreaterThanOrEqual(requests + paths.length)
  expect(await filesOf(restored)).toHaveLength(paths.length)
  expect(await reader.get('/api/archives/ours-1.0.0.tar.gz')).toMatchObject({ status: 200 })
})

it('does not count the files of the mirror as archives', async () => {
  const upstream = await Upstream.start()
  upstream.publish('intl', '1.0.0')
  await using app = await testApp({ alone: true, env: { UPSTREAM_URL: upstream.url } })
  const member = await app.member()
  await publishOwn(app, member, { name: 'ours', version: '1.0.0' })
  await member.get('/mirror/api/archives/intl-1.0.0.tar.gz')
  app.clock.now = new Date(Date.now() + 30 * 86_400_000)
  expect(await adminJson(app, 'check-integrity')).toMatchObject({ code: 0, body: { archives: 1, orphans: 0, findings: [] } })
  expect(await adminJson(app, 'collect', '--dry-run')).toMatchObject({ code: 0, body: { removed: [], purged: [] } })
  expect(await adminJson(app, 'verify')).toMatchObject({ code: 0, body: { checked: { archives: 1 } } })
  const listed = []
  for await (const { sha256 } of app.services.blobs.list()) listed.push(sha256)
  expect(listed).toHaveLength(1)
  expect(await admin(app, 'backup', join(app.config.BLOB_PATH, 'mirror'))).toMatchObject({ code: 1 })
})

it('works without the folder of the mirror', async () => {
  const upstream = await Upstream.start()
  upstream.publish('intl', '1.0.0')
  await using app = await testApp({ alone: true, env: { UPSTREAM_URL: upstream.url } })
  const member = await app.member()
  await member.get('/mirror/api/archives/intl-1.0.0.tar.gz')
  await app.stop()
  await rm(join(app.config.BLOB_PATH, 'mirror'), { recursive: true })
  await using restarted = await testApp({ sameDatabaseAs: app })
  const reader = restarted.withToken(member.secret ?? '')
  expect(await reader.get('/mirror/api/packages/intl')).toMatchObject({ status: 200 })
  expect(await reader.get('/mirror/api/archives/intl-1.0.0.tar.gz')).toMatchObject({ status: 200 })
})
