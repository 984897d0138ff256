import DataLoader from 'dataloader'
import { type EntityName, type FilterQuery, type OrderDefinition, raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { currentPause } from './meter.ts'
import { readRows, type Value as Parameter } from './statements.ts'

type Request = { em: EntityManager }

/**
 * Returns a batched lookup (DataLoader): one query loads the keys requested in the same tick, or before and after a pause of the request.
 * Missing keys resolve to null. Results are not cached.
 */
export function batched<Value>(
  load: (em: EntityManager, keys: string[]) => Promise<ReadonlyMap<string, Value>>,
): (request: Request, key: string) => Promise<Value | null> {
  const loadAll = loader<string, Value | null>(async (em, keys) => {
    const found = await load(em, [...new Set(keys)])
    return keys.map((one) => found.get(one) ?? null)
  })
  return ({ em }, key) => loadAll(em, key)
}

function loader<Key, Value>(load: (em: EntityManager, keys: readonly Key[]) => Promise<readonly Value[]>) {
  const loaders = new WeakMap<EntityManager, DataLoader<Key, Value>>()
  return (em: EntityManager, key: Key): Promise<Value> => {
    let known = loaders.get(em)
    if (!known) {
      known = new DataLoader<Key, Value>((keys) => load(em, keys), { cache: false, batchScheduleFn: scheduleWhole })
      loaders.set(em, known)
    }
    return known.load(key)
  }
}

/** Sends a batch after the current tick. While the request pauses, waits for the fields that resume after the pause, so that they join the batch. */
function scheduleWhole(send: () => void): void {
  const again = () => scheduleWhole(send)
  queueMicrotask(() =>
    process.nextTick(() => {
      const pause = currentPause()
      if (pause) pause.then(again, again)
      else send()
    }),
  )
}

/** A query with its values. `order` names columns of the result, in the order that the query itself has. */
type Select = { sql: string; values: readonly Parameter[]; order?: string | undefined }

const loadRows = loader<Select, object[]>(async (em, selects) => {
  const results = new Map<Select, object[]>()
  // Queries of the same text differ only in their values.
  for (const alike of Map.groupBy(selects, ({ sql }) => sql).values())
    for (let from = 0; from < alike.length; from += selectsPerStatement)
      await readSelects(em, alike.slice(from, from + selectsPerStatement), results)
  return selects.map((select) => results.get(select) ?? [])
})

/** SQLite allows 500. */
const selectsPerStatement = 100

async function readSelects(em: EntityManager, selects: Select[], results: Map<Select, object[]>): Promise<void> {
  const [first] = selects
  if (!first) return
  if (selects.length === 1) return void results.set(first, await readRows(em, first.sql, first.values))
  const parts = selects.map(({ sql }, place) => `select ${place} as list, part.* from (${sql}) part`)
  const order = first.order === undefined ? '' : ` order by list, ${first.order}`
  const values = selects.flatMap((select) => select.values)
  const rows = await readRows<{ list: number }>(em, `select * from (${parts.join(' union all ')}) parts${order}`, values)
  for (const select of selects) results.set(select, [])
  for (const { list, ...row } of rows) {
    const select = selects[list]
    if (select) results.get(select)?.push(row)
  }
}

/**
 * Like `readRows`, for the fields of a list: queries with the same text that are requested in the same tick become one statement, a `union all`.
 * Unlike a condition on many keys, it keeps the limit of each query.
 */
export const readEach = <Row extends object>(em: EntityManager, select: Select): Promise<Row[]> => loadRows(em, select) as Promise<Row[]>

type Row = Record<string, unknown>
type Page = { entity: EntityName<Row>; where: object; orderBy: OrderDefinition<Row>; limit: number; offset: number | undefined }

const findPages = loader<Page, Row[]>(async (em, pages) => {
  const [only] = pages
  if (only && pages.length === 1) return [await findPage(em, only)]
  const found = new Map<Page, Row[]>()
  const selects = new Map(pages.map((page) => [page, selectKeys(em, page)]))
  // Queries of the same text read the same entity in the same order.
  const groups = Map.groupBy(selects.entries(), ([, { sql }]) => sql)
  await Promise.all(Array.from(groups.values(), (alike) => findAlike(em, alike, found)))
  return pages.map((page) => found.get(page) ?? [])
})

const findPage = (em: EntityManager, { entity, where, ...options }: Page) => em.find(entity, where, options)

async function findAlike(em: EntityManager, alike: [Page, Select][], found: Map<Page, Row[]>): Promise<void> {
  const [[first] = []] = alike
  if (!first) return
  const key = keyOf(em, first)
  const keys = await Promise.all(alike.map(async ([, select]) => (await readEach<Row>(em, select)).map((row) => row[key])))
  const rows = await em.find(first.entity, { [key]: { $in: [...new Set(keys.flat())] } }, { orderBy: first.orderBy })
  for (const [at, [page]] of alike.entries()) {
    const own = new Set(keys[at])
    const ofPage = rows.filter((row) => own.has(row[key]))
    found.set(page, ofPage)
  }
}

const keyOf = (em: EntityManager, { entity }: Pick<Page, 'entity'>): string => em.getMetadata(entity).primaryKeys[0] ?? 'id'

function selectKeys(em: EntityManager, page: Page): Select {
  const query = em.createQueryBuilder(page.entity, 'row').select(keyOf(em, page))
  return selectOf(query.where(page.where).orderBy(page.orderBy).limit(page.limit, page.offset))
}

function selectOf(query: { toQuery(): { sql: string; params: readonly unknown[] } }): Select {
  const { sql, params } = query.toQuery()
  return { sql, values: params as Parameter[] }
}

type Slice<Entity> = { orderBy: OrderDefinition<Entity>; limit: number; offset?: number | undefined }

/** Like `em.find`, for the fields of a list: pages that are requested in the same tick take two statements. The entity has one primary key. */
export const findEach = <Entity extends object>(
  em: EntityManager,
  entity: EntityName<Entity>,
  where: FilterQuery<Entity>,
  { orderBy, limit, offset }: Slice<Entity>,
): Promise<Entity[]> =>
  findPages(em, { entity, where, orderBy, limit, offset } as unknown as Page) as Promise<unknown[]> as Promise<Entity[]>

/** Like `em.count`, for the fields of a list: counts that are requested in the same tick take one statement. */
export async function countEach<Entity extends object>(
  em: EntityManager,
  entity: EntityName<Entity>,
  where: FilterQuery<Entity>,
): Promise<number> {
  const query = em.createQueryBuilder(entity as EntityName<Row>, 'row').select(raw('count(*) as total'))
  const [row] = await readEach<{ total: number }>(em, selectOf(query.where(where as object)))
  return row?.total ?? 0
}
