import type { EntityManager } from '@mikro-orm/sql'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { dayOf, lastDayBeforeWindow, recount } from '../downloads/service.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows, readRow, readRows } from '../../platform/db/statements.ts'
import { recountLikes } from '../likes/service.ts'
import { type Here, hostedHere } from '../packages/hosting.ts'
import { repairCounts } from '../packages/dependents/service.ts'
import type { Services } from '../../services.ts'
import { readSetting, readSettingIn, type Setting, writeSetting } from '../../platform/settings/service.ts'
import { refreshIndex, shownTo } from './refresh-index.ts'

declare module '../../services.ts' {
  interface State {
    /** Whether packages are still being added to the search index. */
    isIndexing?: boolean
  }
}

type Rebuilder = Pick<Services, 'config' | 'database' | 'log' | 'now' | 'state'>

/** Version of the index format. Increment it when terms, tags or visibility are computed differently: every package is then reindexed. */
const indexFormat = 7
export const storedFormat: Setting<number> = { key: 'search.indexForm', schema: z.int(), initial: 1 }

/** Id of the last package reindexed in the current format; null when all packages are. A restart continues from this package. */
export const reindexedTo: Setting<string | null> = { key: 'search.renewedTo', schema: z.string().nullable(), initial: null }

/** Schedules a full reindex for the next server start, or for the start in progress. */
export const scheduleReindex = (em: EntityManager): Promise<void> => writeSetting(em, reindexedTo, beforeAll)

/**
 * Indexes packages whose document is missing or outdated, and all packages after the index format has changed. Runs in the background: transactions
 * last a few milliseconds, and the loop yields to requests after each package.
 */
export async function completeIndex(services: Rebuilder): Promise<void> {
  const { database, log, config, now, state } = services
  const indexer = { config, now, fork: () => database.fork() }
  state.isIndexing = true
  try {
    await nextTurn()
    await scheduleIfFormatChanged(database)
    const reindexed = await readSetting(database.reads, reindexedTo)
    let done = 0
    if (reindexed !== null) {
      done += await indexAfter(indexer, reindexed, allPackages)
      await database.fork().transactional((em) => writeSetting(em, reindexedTo, null))
    }
    done += await indexAfter(indexer, beforeAll, outdatedPackages(database.backend))
    await recountDependents(services)
    await repairCounts(database)
    if (done > 0) log.info(`The search index is complete: ${done} packages were indexed`)
  } finally {
    state.isIndexing = false
  }
}

/**
 * Reindexes every package, safely alongside running servers. Continues an interrupted run. `report` receives the number of packages processed and the
 * total. Returns the number of packages indexed by this run.
 */
export async function rebuildIndex(
  { config, em, now }: Pick<Indexer, 'config' | 'now'> & { em: EntityManager },
  report: (done: number, all: number) => void,
): Promise<number> {
  const start = (await readSettingIn(em, reindexedTo)) ?? beforeAll
  const counts = 'select count(*) as n, count(case when id <= ? then 1 end) as done from packages'
  const row = await readRow<{ n: number | string; done: number | string }>(em, counts, [start])
  await writeSetting(em, reindexedTo, start)
  const indexed = await indexAfter({ config, now, fork: () => em.fork() }, start, allPackages, (count) =>
    report(Number(row?.done) + count, Number(row?.n)),
  )
  await writeSetting(em, reindexedTo, null)
  return indexed
}

/** The nil UUID. Sorts before every package id. */
const beforeAll = '00000000-0000-0000-0000-000000000000'
const packagesAtOnce = 100
/** Target duration of one transaction in milliseconds. The package in progress is always completed. */
const sliceMs = 15

type Indexer = { config: Here; now: () => Date; fork: () => EntityManager }

/** Which packages `p` to index, and how to record progress. */
type IndexPlan = { where: string; parameters: (here: Here) => string[]; recordProgress: (em: EntityManager, id: string) => Promise<void> }

/** Packages without a document, and packages that an instance of the previous release indexed by other rules, or without the publication time. */
function outdatedPackages(backend: Rebuilder['database']['backend']): IndexPlan {
  const newest = backend === 'sqlite' ? 'max(n.created_at)' : '(extract(epoch from max(n.created_at)) * 1000)::bigint'
  const publishedAt = `(select ${newest} from package_versions n where n.package_id = p.id)`
  return {
    where: `not exists (select 1 from package_search_documents d
      where d.package_id = p.id and d.shown_to = ${shownTo} and d.published_at = ${publishedAt})`,
    parameters: (here) => [hostedHere(here)],
    recordProgress: async () => {},
  }
}
const allPackages: IndexPlan = { where: 'true', parameters: () => [], recordProgress: (em, id) => writeSetting(em, reindexedTo, id) }

async function scheduleIfFormatChanged(database: Services['database']): Promise<void> {
  if ((await readSetting(database.reads, storedFormat)) === indexFormat) return
  await database.fork().transactional(async (em) => {
    await scheduleReindex(em)
    await writeSetting(em, storedFormat, indexFormat)
  })
}

/** Indexes the packages after `start` in id order. The fixed order prevents deadlocks between instances that start at the same time. */
async function indexAfter(indexer: Indexer, start: string, plan: IndexPlan, report: (done: number) => void = () => {}): Promise<number> {
  let done = 0
  for (let window = await windowAfter(indexer, start, plan); window; window = await windowAfter(indexer, window.end, plan)) {
    for (let ids = window.ids; ids.length > 0;) {
      const indexed = await indexSlice(indexer, ids, plan)
      ids = ids.slice(indexed)
      done += indexed
      report(done)
      await sleep(sliceMs)
    }
    await nextTurn()
  }
  return done
}

/** Returns the next batch of packages by id, and which of them to index. */
async function windowAfter({ config, fork }: Indexer, start: string, { where, parameters }: IndexPlan) {
  const rows = await readRows<{ id: string; wanted: boolean | number }>(
    fork(),
    `select p.id, (${where}) and exists (select 1 from package_versions v where v.package_id = p.id and v.version = p.latest_version) as wanted
     from (select id, latest_version, visibility, is_unlisted from packages where id > ? order by id limit ${packagesAtOnce}) p order by p.id`,
    [...parameters(config), start],
  )
  const end = rows.at(-1)?.id
  return end === undefined ? null : { end, ids: rows.flatMap(({ id, wanted }) => (wanted ? id : [])) }
}

/** Indexes as many packages as fit into one short transaction. Returns their number. */
function indexSlice({ config, fork, now }: Indexer, ids: string[], { recordProgress }: IndexPlan): Promise<number> {
  return fork().transactional(async (em) => {
    const startedAt = performance.now()
    let done = 0
    for (const id of ids) {
      await refreshIndex(em, config, id)
      await recount(em, [id], lastDayBeforeWindow(dayOf(now())))
      await recountLikes(em, [id])
      done += 1
      await nextTurn()
      if (performance.now() - startedAt > sliceMs) break
    }
    const last = ids[done - 1]
    if (last !== undefined) await recordProgress(em, last)
    return done
  })
}

/**
 * Recounts the dependents of each package, which ranking uses: among all listed packages, and among packages that are fully public, because anonymous
 * callers must not learn about others. Reads the tags of the index, which anyone who can see a package can count. Writes only changed counts. Safe to
 * run at any time and on several instances at once.
 */
export async function recountDependents({ database }: Pick<Services, 'database'>): Promise<void> {
  const counts = new Map<string, Counts>()
  for await (const { tags, shown_to: shownTo } of documents<{ tags: string; shown_to: number }>(database, 'tags, shown_to')) {
    if (shownTo === 0) continue
    for (const [, name = ''] of tags.matchAll(/(?<!\S)dependency:(\S+)/g)) {
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
/** Iterates over all search documents in id order, in batches. */
async function* documents<Row extends object>({ reads }: Services['database'], columns: string) {
  for (let after = beforeAll; ;) {
    const rows = await reads.all<Row & { package_id: string }>(
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

/** Writes the counts in id order, which is the lock order of index-package.ts. */
async function store(database: Services['database'], changed: readonly [string, Counts][]): Promise<void> {
  if (changed.length === 0) return
  await database.fork().transactional(async (em) => {
    for (const [id, { all, open }] of changed)
      await changeRows(
        em,
        db.updateTable('package_search_documents').set({ dependents: all, public_dependents: open }).where('package_id', '=', id),
      )
  })
}
