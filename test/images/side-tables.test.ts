import { describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '../app.ts'
import { db } from '../../server/platform/db/query.ts'
import { changeRows, readRows } from '../../server/platform/db/statements.ts'
import { sideTable } from '../../server/platform/store/side-store.ts'

type Row = { key: string; sha256: string | null; bytes: number; used_at: Date }

const tables = [
  {
    table: 'cached_images' as const,
    folder: 'images',
    insert: (row: Row) => db.insertInto('cached_images').values({ ...row, media_type: 'image/png', fetched_at: row.used_at }),
  },
  {
    table: 'mirror_entries' as const,
    folder: 'mirror',
    insert: (row: Row) => db.insertInto('mirror_entries').values({ ...row, kind: 'listing', name: row.key, version: '' }),
  },
]

const filesOf = ({ table, folder }: (typeof tables)[number]) => sideTable(table, { folder, what: 'a row' })
const keysIn = async ({ services }: TestApp, table: 'cached_images' | 'mirror_entries') =>
  (await readRows(services.database.fork(), db.selectFrom(table).select('key').orderBy('key'))).map(({ key }) => key)

describe.each(tables)('the side table $table', (one) => {
  const files = filesOf(one)
  const fileless = db.deleteFrom(one.table).where('sha256', 'is', null)

  it('loses the rows that were not used for the longest time beyond the limit, and their files', async () => {
    await using app = await testApp({ alone: true })
    const { services, clock } = app
    const start = Date.now()
    for (const [minute, key] of ['a', 'b', 'c', 'd'].entries()) {
      const sha256 = await files.keep(services, Buffer.from(key.repeat(100)))
      await changeRows(services.database.fork(), one.insert({ key, sha256, bytes: 100, used_at: new Date(start + minute * 60_000) }))
    }
    await changeRows(services.database.fork(), one.insert({ key: 'none', sha256: null, bytes: 0, used_at: new Date(start) }))
    await files.keep(services, Buffer.from('without a row'))
    // Files are stored before their rows.
    expect(await files.collect(services, 1000, fileless)).toBe(0)
    expect(await keysIn(app, one.table)).toEqual(['a', 'b', 'c', 'd'])
    clock.now = new Date(start + 3_600_000)
    expect(await files.collect(services, 250, fileless)).toBe(3)
    expect(await keysIn(app, one.table)).toEqual(['c', 'd'])
    expect(await files.collect(services, 250, fileless)).toBe(0)
  })

  it('opens no store without rows', async () => {
    await using app = await testApp({ alone: true })
    expect(await files.collect(app.services, 0, fileless)).toBe(0)
    expect(app.services.state.sideStores?.has(one.folder) ?? false).toBe(false)
  })

  it('records uses once in half a day', async () => {
    await using app = await testApp({ alone: true })
    const { services } = app
    const hoursAgo = (hours: number) => new Date(services.now().getTime() - hours * 3_600_000)
    for (const [key, hours] of [
      ['earlier', 13],
      ['recent', 11],
    ] as const) {
      const [used_at, em] = [hoursAgo(hours), services.database.fork()]
      await changeRows(em, one.insert({ key, sha256: null, bytes: 0, used_at }))
      await files.recordUse(services, key, used_at)
      const [row] = await readRows(em, db.selectFrom(one.table).select('used_at').where('key', '=', key))
      expect({ key, isChanged: row?.used_at.getTime() !== used_at.getTime() }).toEqual({ key, isChanged: hours > 12 })
    }
  })

  it('keeps nothing on a disk that is almost full', async () => {
    await using app = await testApp({ env: { MIN_FREE_BYTES: String(2 ** 50) }, alone: true })
    expect(await files.keep(app.services, Buffer.from('content'))).toBe(null)
  })
})
