import SqliteDatabase from 'better-sqlite3'
import { CompiledQuery } from 'kysely'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createMutex, type Mutex, Lease } from '../../../server/platform/db/sqlite/sqlite-lease.ts'
import { guardWrites } from '../../../server/platform/db/location/moved.ts'
import { skipsSync, withoutSync } from '../../../server/platform/db/statements.ts'

const folder = mkdtempSync(join(tmpdir(), 'snug-unforced-'))
let native: SqliteDatabase.Database
beforeAll(() => {
  native = new SqliteDatabase(join(folder, 'some.sqlite'))
  for (const pragma of ['journal_mode = WAL', 'synchronous = FULL']) native.pragma(pragma)
  native.exec('create table notes (text text)')
})
afterAll(() => {
  native.close()
  rmSync(folder, { recursive: true })
})

/** Returns the current `synchronous` setting: 2 syncs every commit, 1 syncs only checkpoints. */
const syncLevel = () => native.pragma('synchronous', { simple: true })

const lease = (mutex = createMutex(1000)) =>
  new Lease({
    native: () => native,
    renew: () => expect.unreachable(),
    onWrite: () => {},
    onTransaction: () => {},
    mutex,
    guard: guardWrites({ DB_BACKEND: 'sqlite', SQLITE_PATH: join(folder, 'some.sqlite') }),
  })

async function beginTransaction(mutex?: Mutex) {
  const one = lease(mutex)
  await one.acquire()
  await one.begin()
  return one
}

it.each(['commit', 'rollback'] as const)('skips the disk sync only for transactions of the callback that end with %s', async (end) => {
  const one = await withoutSync(() => beginTransaction())
  expect(syncLevel()).toBe(1)
  one.run("insert into notes values ('a')")
  one[end]()
  one.release()
  const other = await beginTransaction()
  expect(syncLevel()).toBe(2)
  other.commit()
  other.release()
})

it('skips the disk sync for single statements of the callback, but not for later ones', async () => {
  const insert = CompiledQuery.raw('insert into notes select cast(synchronous as text) from pragma_synchronous')
  for (const work of [withoutSync, (run: () => Promise<unknown>) => run()]) {
    const one = lease()
    await one.acquire()
    // Inserts the setting that applies to this statement.
    await work(() => one.executeQuery(insert))
    one.release()
  }
  expect(native.prepare('select text from notes order by rowid desc limit 2').pluck().all()).toEqual(['2', '1'])
})

it('syncs a commit that waited for another process while an unsynced one started', async () => {
  const other = new SqliteDatabase(join(folder, 'some.sqlite'))
  native.pragma('busy_timeout = 0')
  other.exec('begin immediate')
  const mutex = createMutex(1000)
  const commit = async () => {
    const one = await beginTransaction(mutex)
    const level = syncLevel()
    one.commit()
    one.release()
    return level
  }
  const both = Promise.all([commit(), withoutSync(commit)])
  await sleep(5)
  other.close()
  expect(await both).toEqual([2, 1])
})

it.each([async () => {}, () => Promise.reject(new Error('It failed.'))])(
  'ends with the callback, also for promises that outlive it (%#)',
  async (work) => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    let [during, later]: [boolean, Promise<boolean>] = [false, Promise.resolve(true)]
    await withoutSync(() => {
      during = skipsSync()
      later = ended.then(skipsSync)
      return work()
    }).catch(() => {})
    end()
    expect([during, await later, skipsSync()]).toEqual([true, false, false])
  },
)
