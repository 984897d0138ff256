import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { collect, restoreArchive } from '../../server/operations/admin/storage.ts'
import { collectArchives } from '../../server/platform/store/collect.ts'
import { collectGarbage } from '../../server/registry/uploads/service.ts'
import { type TestApp, testApp } from '../app.ts'
import { runJobs } from '../support/jobs.ts'
import { publish } from '../support/publish.ts'
import { pathOf, plantOrphans, shaOf } from '../support/stored-blobs.ts'

const day = 86_400_000
const heldBack = '{ heldBackCollection { archives stored bytes at } }'
const removedOf = ({ config }: TestApp) => readdirSync(join(config.BLOB_PATH, 'removed'))
const stillStored = (app: TestApp, hashes: string[]) => hashes.filter((sha256) => existsSync(pathOf(app, sha256))).length
const operation = (app: TestApp) => ({ em: app.services.database.fork(), config: app.config })

it('removes nothing before the setup is complete', async () => {
  await using app = await testApp({ setUp: false })
  const orphans = plantOrphans(app, 3)
  expect(await collectGarbage(app.services)).toEqual({ uploads: 0, blobs: 0 })
  await expect(collect(operation(app), { confirmed: true })).rejects.toThrow('The setup is not complete')
  expect(stillStored(app, orphans)).toBe(3)
  await app.owner()
  expect(await collectGarbage(app.services)).toEqual({ uploads: 0, blobs: 3 })
})

it('requires a confirmation to remove more than 20 archives and more than one percent', async () => {
  const start = new Date()
  await using app = await testApp({ now: start })
  const [admin, alice] = [await app.admin(), await app.member()]
  const archive = await publish(alice, { name: 'acme', version: '1.0.0' })
  const orphans = plantOrphans(app, 21)
  expect(await collectGarbage(app.services)).toEqual({ uploads: 0, blobs: 0 })
  expect(stillStored(app, orphans)).toBe(21)
  expect(app.lines.join('')).toMatch(/WARNING collecting: Nothing was removed: no version refers to 21 of 22 stored archives \(210 bytes\)/)
  expect((await admin.graphql(heldBack)).body.data.heldBackCollection).toEqual({
    archives: 21,
    stored: 22,
    bytes: 210,
    at: start.toISOString(),
  })
  expect((await alice.graphql(heldBack)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
  expect((await app.anonymous.graphql(heldBack)).body.errors[0].extensions.code).toBe('MissingAuthentication')

  const { text: plan } = await collect(operation(app), { dryRun: true })
  for (const sha256 of orphans) expect(plan).toContain(`would remove ${sha256} (10 bytes)`)
  expect(plan).toMatch(/Would remove 21 and permanently delete 0\. Nothing was changed\.\nRemoving this many requires --confirm\.$/)
  expect((await collect(operation(app))).text).toContain('Nothing was removed')
  expect(stillStored(app, orphans)).toBe(21)

  const { text: done } = await collect(operation(app), { confirmed: true })
  for (const sha256 of orphans) expect(done).toContain(`removed archive ${sha256} (10 bytes)`)
  expect(done).toMatch(/Removed 21 \(can be restored for 7 days\), permanently deleted 0\.$/)
  expect([stillStored(app, orphans), removedOf(app).length]).toEqual([0, 21])
  const [entry] = (await admin.get('/api/admin/audit-log?kind=server.settings_updated')).body.entries
  const counts = '21 archives removed, 0 archives permanently deleted'
  expect(entry).toMatchObject({ agent: null, summary: `The operator collected orphaned archives: ${counts}, on the command line` })
  expect((await admin.graphql(heldBack)).body.data.heldBackCollection).toBeNull()
  expect((await alice.get('/api/archives/acme-1.0.0.tar.gz')).raw.equals(archive)).toBe(true)
})

it('removes a few archives or a small part without confirmation, retains them for a week and logs each', async () => {
  await using app = await testApp()
  const orphans = plantOrphans(app, 20)
  expect(await collectGarbage(app.services)).toEqual({ uploads: 0, blobs: 20 })
  expect(app.lines.filter((line) => / INFO collecting: removed archive [0-9a-f]{64} \(10 bytes\)/.test(line))).toHaveLength(20)
  app.clock.now = new Date(Date.now() + 6.9 * day)
  await collectGarbage(app.services)
  expect(removedOf(app)).toHaveLength(20)
  expect(await restoreArchive(operation(app), orphans[0])).toMatch(/is back in the store\.\nNo version refers to it/)
  app.clock.now = new Date(Date.now() + 7.1 * day)
  await collectGarbage(app.services)
  expect(app.lines.filter((line) => / INFO collecting: permanently deleted archive [0-9a-f]{64} \(10 bytes\)/.test(line))).toHaveLength(19)
  // A restored archive that is removed again is retained for another week.
  expect(removedOf(app)).toEqual([expect.stringContaining(String(orphans[0]))])
  await expect(restoreArchive(operation(app), orphans[1])).rejects.toThrow('Removed archives are permanently deleted after 7 days')
})

it('restores the archive of a deleted version and serves an archive removed by mistake again', async () => {
  await using app = await testApp()
  const [admin, alice] = [await app.admin(), await app.member()]
  const deleted = shaOf(await publish(alice, { name: 'acme', version: '1.0.0' }))
  const archive = await publish(alice, { name: 'acme', version: '1.1.0' })
  await admin.delete('/api/admin/packages/acme/versions/1.0.0')
  await runJobs(app)
  expect(app.lines.join('')).toContain(`removed archive ${deleted}`)
  expect(await alice.get('/api/archives/acme-1.0.0.tar.gz')).toMatchObject({ status: 404 })
  expect(await restoreArchive(operation(app), 'acme', '1.0.0')).toContain(pathOf(app, deleted))
  expect(await restoreArchive(operation(app), 'acme', '1.0.0')).toContain('is already in the store')
  expect(await alice.get('/api/archives/acme-1.0.0.tar.gz')).toMatchObject({ status: 404 })
  for (const [name, version] of [['acme', '9.9.9'], ['other', '1.0.0'], ['../../etc/passwd']] as const)
    await expect(restoreArchive(operation(app), name, version)).rejects.toThrow(/ is known\. |Give the SHA-256/)

  const { blobs } = app.services
  await blobs.remove(shaOf(archive), { at: new Date() })
  expect(await restoreArchive(operation(app), 'acme', '1.1.0')).toBe(`The archive ${shaOf(archive)} is back in the store.`)
  await blobs.remove(shaOf(archive), { at: new Date() })
  expect((await alice.get('/api/archives/acme-1.1.0.tar.gz')).raw.equals(archive)).toBe(true)
  expect(existsSync(pathOf(app, shaOf(archive)))).toBe(true)
})

it('never loses a referenced archive during concurrent collections and publishes', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const archives: Buffer[] = []
  const publishing = (async () => {
    for (let minor = 0; minor < 10; minor++) archives.push(await publish(alice, { name: 'acme', version: `1.${minor}.0` }))
  })()
  const { database, blobs, now } = app.services
  const said: string[] = []
  for (let round = 0; round < 50; round++) {
    const [orphan = ''] = plantOrphans(app, 1)
    const collecting = () => collectArchives({ em: database.fork(), blobs, now, say: (line) => void said.push(line) })
    await Promise.all([collecting(), collecting(), collecting()])
    expect(said.filter((line) => line.includes(orphan))).toHaveLength(1)
  }
  await publishing
  for (const [minor, archive] of archives.entries())
    expect((await alice.get(`/api/archives/acme-1.${minor}.0.tar.gz`)).raw.equals(archive)).toBe(true)
})
