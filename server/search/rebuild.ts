import type { EntityManager } from '@mikro-orm/sql'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { dayOf, windowEnd } from '../downloads/days.ts'
import { readRow, readRows } from '../db/statements.ts'
import { recount } from '../downloads/roll.ts'
import { recountLikes } from '../likes/service.ts'
import type { Here } from '../packages/hosting/hosted-here.ts'
import type { Services } from '../services.ts'
import { readSetting, readSettingIn, type Setting, writeSetting } from '../settings/service.ts'
import { refreshIndex } from './refresh-index.ts'

type Rebuilder = Pick<Services, 'config' | 'database' | 'log' | 'now'>

/** Grows when terms, tags or who finds a package are made otherwise than before: then every package is indexed anew. */
const form = 5
export const storedForm: Setting<number> = { key: 'search.indexForm', schema: z.int(), initial: 1 }

/** The last package that has been indexed anew in this form; null when all have. A restart goes on from here. */
export const renewedTo: Setting<string | null> = { key: 'search.renewedTo', schema: z.string().nullable(), initial: null }

/** Has every package indexed anew when the server starts next, or while it starts. */
export const renewIndex = (em: EntityManager): Promise<void> => writeSetting(em, renewedTo, beforeAll)

/**
 * Indexes the packages that the index does not know, and all of them after its form has changed. Searches and everything else work meanwhile: it
 * takes turns with requests after every package, and writes in transactions of a few milliseconds.
 */
export async function completeIndex(services: Rebuilder): Promise<void> {
  const { database, log, config, now } = services
  const indexer = { config, now, fork: () => database.fork() }
  under.add(database)
  try {
    await nextTurn()
    await noticeOtherForm(database)
    const renewed = await readSetting(database.reads, renewedTo)
    let done = 0
    if (renewed !== null) {
      done += await indexAfter(indexer, renewed, everyOne)
      await database.fork().transactional((em) => writeSetting(em, renewedTo, null))
    }
    done += await indexAfter(indexer, beforeAll, missing)
    await recountDependents(services)
    if (done > 0) log.info(`The search index is complete: ${done} packages were indexed`)
  } finally {
    under.delete(database)
  }
}

/**
 * Indexes every package anew, beside servers that may be running; it goes on where an earlier run was interrupted. `report` hears how many of
 * all packages are done. Gives how many were indexed now.
 */
export async function rebuildIndex(
  { config, em, now }: Pick<Indexer, 'config' | 'now'> & { em: EntityManager },
  report: (done: number, all: number) => void,
): Promise<number> {
  const start = (await readSettingIn(em, renewedTo)) ?? beforeAll
  const counts = 'select count(*) as n, count(case when id <= ? then 1 end) as done from packages'
  const row = await readRow<{ n: number | string; done: number | string }>(em, counts, [start])
  await writeSetting(em, renewedTo, start)
  const indexed = await indexAfter({ config, now, fork: () => em.fork() }, start, everyOne, (count) =>
    report(Number(row?.done) + count, Number(row?.n)),
  )
  await writeSetting(em, renewedTo, null)
  return indexed
}

/** Whether packages are still being added to the index. */
export const isIncomplete = (database: Services['database']): boolean => under.has(database)

const under = new WeakSet<Services['database']>()

/** Sorts before every package's id. */
const beforeAll = '00000000-0000-0000-0000-000000000000'
const packagesAtOnce = 100
/** How long a transaction may last; the package that it is at is finished. */
const sliceMs = 15

/** What packages are indexed with. */
type Indexer = { config: Here; now: () => Date; fork: () => EntityManager }

/** Which packages to index, and what to write down about how far it went. */
type Course = { where: string; keep: (em: EntityManager, id: string) => Promise<void> }

const missing: Course = {
  where: 'not exists (select 1 from package_search_documents d where d.package_id = p.id)',
  keep: async () => {},
}
const everyOne: Course = { where: 'true', keep: (em, id) => writeSetting(em, renewedTo, id) }

/** Starts over when an older program has filled the index. */
async function noticeOtherForm(database: Services['database']): Promise<void> {
  if ((await readSetting(database.reads, storedForm)) === form) return
  await database.fork().transactional(async (em) => {
    await renewIndex(em)
    await writeSetting(em, storedForm, form)
  })
}

/** Indexes the packages after this one, in the order of their ids, so that instances that start together do not wait for each other in a circle. */
async function indexAfter(indexer: Indexer, start: string, course: Course, report: (done: number) => void = () => {}): Promise<number> {
  let done = 0
  for (let window = await windowAfter(indexer, start, course); window; window = await windowAfter(indexer, window.end, course)) {
    for (let ids = window.ids; ids.length > 0;) {
      const indexed = await indexSlice(indexer, ids, course)
      ids = ids.slice(indexed)
      done += indexed
      report(done)
      await sleep(sliceMs)
    }
    await nextTurn()
  }
  return done
}

/** The next packages by id, and which of them are to be indexed. */
async function windowAfter({ fork }: Indexer, start: string, { where }: Course) {
  const rows = await readRows<{ id: string; wanted: boolean | number }>(
    fork(),
    `select p.id, (${where}) and exists (select 1 from package_versions v where v.package_id = p.id and v.version = p.latest_version) as wanted
     from (select id, latest_version from packages where id > ? order by id limit ${packagesAtOnce}) p order by p.id`,
    [start],
  )
  const end = rows.at(-1)?.id
  return end === undefined ? null : { end, ids: rows.flatMap(({ id, wanted }) => (wanted ? id : [])) }
}

/** Indexes as many packages as fit into one short transaction; gives their number. */
function indexSlice({ config, fork, now }: Indexer, ids: string[], { keep }: Course): Promise<number> {
  return fork().transactional(async (em) => {
    const startedAt = performance.now()
    let done = 0
    for (const id of ids) {
      await refreshIndex(em, config, id)
      await recount(em, [id], windowEnd(dayOf(now())))
      await recountLikes(em, [id])
      done += 1
      await nextTurn()
      if (performance.now() - startedAt > sliceMs) break
    }
    const last = ids[done - 1]
    if (last !== undefined) await keep(em, last)
    return done
  })
}

/**
 * Counts again how many packages depend on each one, for the figures that search ranks by: among all listed packages, and among those that
 * everyone sees whole, since callers who are not signed in may know of no others. It reads the tags that search filters by, which anyone who sees
 * a package can count, and writes what changed. Safe to run at any time, and on several instances.
 */
export async function recountDependents({ database }: Pick<Services, 'database'>): Promise<void> {
  const counts = new Map<string, Counts>()
  for await (const { tags, shown_to: shownTo } of documents<{ tags: string; shown_to: number }>(database, 'tags, shown_to')) {
    if (shownTo === 0) continue
    for (const name of dependenciesIn(tags)) {
      const { all, open } = counts.get(name) ?? none
      counts.set(name, { all: all + 1, open: open + (shownTo === 2 ? 1 : 0) })
    }
  }
  let changed: [id: string, counts: Counts][] = []
  for await (const { package_id: id, name, ...stored } of documents<StoredRow>(database, 'name, dependents, public_dependents')) {
    const { all, open } = counts.get(name) ?? none
    if (Number(stored.dependents) !== all || Number(stored.public_dependents) !== open) changed.push([id, { all, open }])
    if (changed.length >= atOnce) {
      await store(database, changed)
      changed = []
    }
  }
  await store(database, changed)
}

type Counts = { all: number; open: number }
type StoredRow = { name: string; dependents: number | string; public_dependents: number | string }

const none: Counts = { all: 0, open: 0 }
const atOnce = 200
const tag = 'dependency:'

const dependenciesIn = (tags: string) => tags.split(' ').flatMap((each) => (each.startsWith(tag) ? [each.slice(tag.length)] : []))

/** All packages that search knows, in the order of their ids, some at a time. */
async function* documents<Row extends object>({ heavyReads }: Services['database'], columns: string) {
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const rows = await heavyReads.all<Row & { package_id: string }>(
      `select package_id, ${columns} from package_search_documents where package_id > ? order by package_id limit ${atOnce}`,
      after,
    )
    yield* rows
    const last = rows.at(-1)
    if (!last) return
    after = last.package_id
    await nextTurn()
  }
}

/** In the order of the ids, as others lock these rows (index-package.ts). */
async function store(database: Services['database'], changed: readonly [string, Counts][]): Promise<void> {
  if (changed.length === 0) return
  await database.fork().transactional(async (em) => {
    for (const [id, { all, open }] of changed)
      await em.execute('update package_search_documents set dependents = ?, public_dependents = ? where package_id = ?', [all, open, id])
  })
}
