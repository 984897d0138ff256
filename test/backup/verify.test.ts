import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { verify } from '../../server/operations/admin/diagnostics.ts'
import { openFindings, verifyAuditOrder } from '../../server/operations/backup/verify/findings.ts'
import { restoreBackup } from '../../server/operations/backup/restore/restore.ts'
import { Avatar } from '../../server/accounts/users/entity.ts'
import { type TestApp, testApp } from '../app.ts'
import { backUp, emptyPlace, folderOfTest, placesIn } from '../support/backups.ts'
import { beginDocs, storeDocs, versionId } from '../support/docs.ts'
import { plain } from '../support/pictures.ts'
import { publish } from '../support/publish.ts'
import { pathOf, shaOf } from '../support/stored-blobs.ts'

const runVerify = async (config: TestApp['config'], folder?: string) => {
  const { data, ok } = await verify(config, folder)
  return JSON.parse(JSON.stringify({ ok, ...data }))
}

/** Adds one of each kind of stored file that is verified. */
async function fillServer(app: TestApp) {
  const alice = await app.member()
  const archive = await publish(alice, { name: 'acme', version: '1.0.0' })
  const id = await versionId(app, 'acme', '1.0.0')
  expect(await storeDocs(app, id, await beginDocs(app, id), 'acme', '1.0.0')).toBe(true)
  const png = await plain({ width: 512, height: 512 }).png().toBuffer()
  await app.services.database.fork().upsert(Avatar, { user: alice.id, png, sha256: shaOf(png) })
  return { alice, archive }
}

const places: Record<string, string>[] = [{}, { DOCS_BACKEND: 'filesystem' }]

it.each(places)('finds no problems in a server, its backup and the restored copy (%o)', async (env) => {
  await using app = await testApp({ env })
  await fillServer(app)
  const all = { archives: 1, documentation: 1, pictures: 1 }
  expect(await runVerify(app.config)).toMatchObject({ ok: true, problems: [], checked: all })
  const folder = folderOfTest()
  await backUp(app, folder)
  expect(await runVerify(app.config, folder)).toMatchObject({ ok: true, problems: [], checked: { backups: 1, blobs: 2 } })
  const place = await emptyPlace(app)
  await restoreBackup(place, folder)
  expect(await runVerify(place)).toMatchObject({ ok: true, problems: [], checked: all })
  expect((await verify(place)).text).toMatch(/^Verified 1 archive, 1 documentation, 1 picture, .*: no problems found\.$/)
})

it('finds no problems in a backup of texts with all kinds of line breaks', async () => {
  await using app = await testApp()
  const files = { 'README.md': '# Breaks\n\u2028 \u2029 \u0085 \r\n \r \v \f \t \\n\n' }
  await publish(await app.member(), { name: 'acme', version: '1.0.0', files })
  const folder = folderOfTest()
  await backUp(app, folder)
  expect(await runVerify(app.config, folder)).toMatchObject({ ok: true, problems: [] })
})

it('finds missing and damaged files of a server', async () => {
  await using app = await testApp()
  const { archive } = await fillServer(app)
  writeFileSync(pathOf(app, shaOf(archive)), 'other bytes')
  const { database } = app.services
  const [{ sha256 } = { sha256: '' }] = await database.reads.all<{ sha256: string }>('select sha256 from version_docs')
  rmSync(pathOf(app, sha256))
  await database.orm.em.getConnection().execute('update avatars set sha256 = ?', ['0'.repeat(64)])
  const { ok, problems } = await runVerify(app.config)
  expect([ok, problems.map(({ problem }: { problem: string }) => problem)]).toEqual([
    false,
    [`the archive ${shaOf(archive)} does not match its checksum`, `the documentation ${sha256} is missing`, 'does not match its checksum'],
  ])
})

it('detects all damage of a backup', async () => {
  await using app = await testApp()
  const { archive } = await fillServer(app)
  const folder = folderOfTest()
  const { manifest } = await backUp(app, folder)
  const places = placesIn(folder)
  const of = /^(registry\.sqlite|package_versions\.copy|blobs\.tsv)$/
  const paths = [
    ...manifest.files.filter(({ name }) => of.test(name)).map(({ name }) => join(places.snapshot(manifest.id), name)),
    places.blob(shaOf(archive)),
    places.manifest(manifest.id),
  ]
  for (const path of paths) {
    const whole = readFileSync(path)
    appendFileSync(path, '\tx')
    expect([path, (await runVerify(app.config, folder)).ok]).toEqual([path, false])
    writeFileSync(path, whole)
  }
  expect(await runVerify(app.config, folder)).toMatchObject({ ok: true })
  rmSync(places.blob(shaOf(archive)))
  expect((await runVerify(app.config, folder)).problems).toEqual([{ where: places.blob(shaOf(archive)), problem: 'is missing' }])
  await expect(verify(app.config, folderOfTest())).rejects.toThrow('There is no complete backup in')
})

it('finds audit entries that are out of order', async () => {
  const findings = openFindings()
  const entries = [
    { id: '1', at: 100_000 },
    { id: '2', at: 90_000 },
    { id: '2', at: 100_000 },
    { id: '3', at: 20_000 },
    { id: '4', at: Number.NaN },
  ]
  await verifyAuditOrder(entries, 'log', findings)
  expect(findings.result.problems.map(({ problem }) => problem)).toEqual([
    'The audit entry 2 is duplicated or out of order',
    'The audit entry 3 has the time 1970-01-01T00:00:20.000Z, which is earlier than that of the previous entry 1',
    'The audit entry 4 has no timestamp',
  ])
})
