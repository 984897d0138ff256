import { expect, it } from 'vitest'
import { deleteOldEntries } from '../../server/accounts/audit/retention.ts'
import { restoreBackup } from '../../server/operations/backup/restore/restore.ts'
import { type TestApp, testApp } from '../app.ts'
import { dropAuditTriggers } from '../support/audit.ts'
import { backUp, emptyPlace, folderOfTest } from '../support/backups.ts'
import { anotherInstance } from '../support/instances.ts'
import { change, dayMs, execute, addOldEntries, deleteExpired, rowsOf, seal, set, verify } from '../support/retention.ts'

const summaries = async (app: TestApp) => (await rowsOf(app, 'select summary from audit_entries order by id')).map(({ summary }) => summary)

it('keeps every entry until the owner sets a retention, which is recorded', async () => {
  await using app = await testApp()
  await addOldEntries(app, 3, 400)
  await seal(app)
  await deleteExpired(app)
  expect(await summaries(app)).toHaveLength(3)
  const owner = await app.owner()
  expect((await change(owner, 365)).body.data).toEqual({
    updateAuditRetention: { auditRetention: { days: 365, viewerCanUpdate: true } },
  })
  await set(app, 365)
  await set(app, null)
  const state = '{ auditRetention { days minimumDays keptFrom viewerCanUpdate entriesOlderThan(days: 365) } }'
  expect((await (await app.admin()).graphql(state)).body.data.auditRetention).toEqual({
    days: null,
    minimumDays: 90,
    keptFrom: null,
    viewerCanUpdate: false,
    entriesOlderThan: 3,
  })
  expect((await summaries(app)).slice(3)).toEqual([
    'Olive Owner changed how long audit entries are kept: from forever to 365 days',
    'Olive Owner changed how long audit entries are kept: from 365 days to forever',
  ])
})

it('requires the owner with a recently confirmed password and at least 90 days', async () => {
  await using app = await testApp()
  const owner = await app.owner()
  const browser = await owner.session()
  for (const actor of [await app.admin(), await (await app.admin()).session(), await app.member(), await app.withScopes(owner, ['write'])])
    expect((await change(actor, 90)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
  expect((await change(app.anonymous, 90)).body.errors[0].extensions.code).toBe('MissingAuthentication')
  for (const days of [89, 0, -1, 36_501])
    expect((await change(owner, days)).body.errors[0].message).toMatch(/must be at (least 90|most 36500) days/)
  app.clock.now = new Date(Date.now() + 11 * 60_000)
  expect((await change(browser, 90)).body.errors[0].extensions.code).toBe('InsufficientPermissions')
  expect(await rowsOf(app, "select * from server_settings where key like 'audit.%'")).toEqual([])
})

it('deletes expired entries from the beginning of the chain, records that and leaves a valid chain', async () => {
  await using app = await testApp()
  await addOldEntries(app, 4100, 200)
  await addOldEntries(app, 2, 10)
  await seal(app)
  const { head } = await verify(app)
  await set(app, 120)
  await seal(app)
  const first = (await rowsOf(app, 'select hash from audit_chain where position = 1'))[0]?.hash
  await deleteExpired(app)
  const left = await summaries(app)
  expect(left.map((text = '') => text.replace(/[0-9a-f]{64}/, '…'))).toEqual([
    '10 days ago, 0',
    '10 days ago, 1',
    expect.stringContaining('from forever to 120 days'),
    ...[2000, 4000, 4100].map((end) => {
      const day = new Date(Date.now() - 120 * dayMs - 3_600_000).toISOString().slice(0, 10)
      return `Deleted the audit entries from before ${day} (kept for 120 days): ${end === 4100 ? 100 : 2000}, up to position ${end} with the hash …`
    }),
  ])
  expect(await verify(app, head ?? '')).toMatchObject({ entries: 3, deleted: 4100, unsealed: 3, problems: [] })
  await seal(app)
  await deleteExpired(app)
  const hashes = await rowsOf(app, 'select hash from audit_cuts order by position')
  expect(hashes).toHaveLength(3)
  for (const known of [head, hashes.at(-1)?.hash]) expect(await verify(app, known ?? '')).toMatchObject({ entries: 6, problems: [] })
  expect((await verify(app, first)).problems).toEqual([expect.stringMatching(/is not in the chain\..*deleted by retention\.$/)])
  expect((await (await app.owner()).graphql('{ auditRetention { keptFrom } }')).body.data.auditRetention.keptFrom).toMatch(
    /T00:00:00\.000Z$/,
  )
})

it('stops before younger or unsealed entries and never deletes the last entry', async () => {
  await using app = await testApp()
  await set(app, 90)
  await addOldEntries(app, 1, 300)
  await seal(app)
  await deleteExpired(app)
  expect(await summaries(app)).toHaveLength(2)
  await addOldEntries(app, 2, 300)
  await deleteExpired(app)
  expect(await summaries(app)).toHaveLength(4)
})

it('deletes entries once while other instances write, seal, export and verify the log', async () => {
  await using app = await testApp()
  await using instance = await anotherInstance(app)
  const other = instance ?? app
  await addOldEntries(app, 3000, 200)
  await addOldEntries(app, 600, 1)
  await seal(app)
  await set(app, 90)
  const admin = await app.admin()
  const download = () => admin.get('/api/admin/audit-log', { headers: { accept: 'application/x-ndjson' } })
  const [, , , , file, ...verdicts] = await Promise.all([
    deleteExpired(app),
    deleteExpired(other),
    addOldEntries(other, 20, 0),
    seal(other),
    download(),
    verify(app),
    verify(other),
  ])
  expect(verdicts.map(({ problems }) => problems)).toEqual([[], []])
  const lines = file.raw.toString().trim().split('\n')
  expect(lines.map((line) => JSON.parse(line)).filter(({ summary }) => summary.startsWith('1 days ago'))).toHaveLength(600)
  await seal(app)
  expect(await verify(app)).toMatchObject({ deleted: 3000, entries: 623, unsealed: 0, problems: [] })
  expect((await summaries(app)).filter((text) => text?.startsWith('Deleted'))).toHaveLength(2)
})

it('rolls back a failed transaction and resumes from there', async () => {
  await using app = await testApp()
  await addOldEntries(app, 2500, 200)
  await addOldEntries(app, 1, 0)
  await seal(app)
  await set(app, 90)
  const { database, log, now } = app.services
  const stopping = new AbortController()
  await deleteOldEntries({ database, log: { ...log, info: () => stopping.abort() }, now, stopping })
  expect(await verify(app)).toMatchObject({ deleted: 2000, entries: 501, problems: [] })
  const cuts = await rowsOf(app, 'select position from audit_cuts')
  await dropAuditTriggers(app)
  await execute(app, 'delete from audit_entries where id = (select entry_id from audit_chain where position = 2300)')
  await expect(deleteExpired(app)).rejects.toThrow(/does not match its hash chain.*at position 2300 was removed/)
  expect(await rowsOf(app, 'select position from audit_cuts')).toEqual(cuts)
  expect((await verify(app)).problems).toEqual([expect.stringContaining('at position 2300 was removed')])
})

it('survives a backup and continues after the restore', async () => {
  await using app = await testApp()
  await addOldEntries(app, 5, 200)
  await addOldEntries(app, 2, 100)
  await addOldEntries(app, 1, 0)
  await seal(app)
  await set(app, 150)
  await deleteExpired(app)
  await seal(app)
  const { head } = await verify(app)
  const folder = folderOfTest()
  await backUp(app, folder)
  const place = await emptyPlace(app)
  await restoreBackup(place, folder)
  await using restored = await testApp({ sameDatabaseAs: app, config: place })
  expect(await verify(restored, head ?? '')).toMatchObject({ deleted: 5, entries: 5, problems: [] })
  await set(restored, 90)
  await deleteExpired(restored)
  expect(await verify(restored, head ?? '')).toMatchObject({ deleted: 7, entries: 3, problems: [] })
  await expect(execute(restored, 'delete from audit_entries')).rejects.toThrow(/never changed/)
})
