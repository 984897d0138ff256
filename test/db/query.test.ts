import { expect, it } from 'vitest'
import { sql } from 'kysely'
import { db, prepared } from '../../server/platform/db/query.ts'
import { changeRows, readRow, readRows } from '../../server/platform/db/statements.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

it('returns times and booleans as entities have them', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'reads', version: '1.0.0' })
  const em = app.services.database.fork()
  const row = await readRow(
    em,
    db
      .selectFrom('packages as p')
      .innerJoin('package_versions as v', 'v.package_id', 'p.id')
      .select(['p.created_at', 'p.is_unlisted as hidden', 'v.retracted_at', 'v.archive_bytes'])
      .select((eb) => eb.selectFrom('package_versions as w').select('w.created_at').whereRef('w.package_id', '=', 'p.id').as('inner')),
  )
  expect(row).toMatchObject({ created_at: expect.any(Date), hidden: false, retracted_at: null, archive_bytes: expect.any(Number) })
  expect(row?.inner).toEqual(expect.any(Date))
})

it('returns the first and last of times as Dates, and counts and sums as numbers', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'reads', version: '1.0.0' })
  const em = app.services.database.fork()
  const row = await readRow(
    em,
    db
      .selectFrom('package_versions')
      .select(({ fn }) => [
        fn.max('created_at').as('last'),
        fn.min('sort_key').as('first'),
        fn.countAll<number>().as('total'),
        fn.sum<number>('archive_bytes').as('bytes'),
      ]),
  )
  expect(row).toEqual({ last: expect.any(Date), first: expect.any(String), total: 1, bytes: expect.any(Number) })
})

it('returns the last of times by the table of the column', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'reads', version: '1.0.0' })
  const em = app.services.database.fork()
  const joined = db
    .selectFrom('packages as p')
    .innerJoin('package_search_documents as d', 'd.package_id', 'p.id')
    .select(({ fn }) => [fn.max('p.updated_at').as('time'), fn.max('d.updated_at').as('ms')])
  expect(await readRow(em, joined)).toEqual({ time: expect.any(Date), ms: expect.any(Number) })
  const alone = db.selectFrom('package_search_documents').select(({ fn }) => fn.max('updated_at').as('ms'))
  expect(await readRow(em, alone)).toEqual({ ms: expect.any(Number) })
})

it('converts the rows that a change returns, and what prepared reads return', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'reads', version: '1.0.0' })
  const { reads, ...database } = app.services.database
  const em = database.fork()
  const now = new Date('2030-01-01T00:00:00.000Z')
  const update = db.updateTable('packages').set({ updated_at: now, is_unlisted: true }).where('name', '=', 'reads')
  expect(await readRows(em, update.returning(['updated_at', 'is_unlisted']))).toEqual([{ updated_at: now, is_unlisted: true }])
  const byName = prepared((name: string) => db.selectFrom('packages').select(['updated_at', 'is_unlisted']).where('name', '=', name))
  for (const read of [reads.get, reads.recall, reads.recall])
    expect(await read(byName, 'reads')).toEqual({ updated_at: now, is_unlisted: true })
  expect(await reads.all(byName, 'other')).toEqual([])
  expect(await reads.all(db.selectFrom('packages').select('updated_at').where('updated_at', '=', now))).toEqual([{ updated_at: now }])
  expect(await changeRows(em, db.updateTable('packages').set({ is_unlisted: false }).where('is_unlisted', '=', true))).toBe(1)
  expect(await changeRows(em, sql`update packages set is_unlisted = ${true} where name = ${'other'}`)).toBe(0)
})
