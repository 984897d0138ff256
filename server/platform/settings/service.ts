import type { EntityManager } from '@mikro-orm/sql'
import type { z } from 'zod'
import { batched } from '../db/batched.ts'
import { db, prepared } from '../db/query.ts'
import type { Reads } from '../db/reads.ts'
import { readRow, readRows } from '../db/statements.ts'
import { ServerSetting } from './entity.ts'

/** A setting: its key, its schema and its default value. */
export type Setting<Value> = { key: string; schema: z.ZodType<Value>; initial: Value }

/** Returns the current value of a setting with one cached read. */
export async function readSetting<Value>(reads: Reads, { key, schema, initial }: Setting<Value>): Promise<Value> {
  const row = await reads.recall(valueOf, key)
  return row ? schema.parse(JSON.parse(row.value)) : initial
}

const valueOf = prepared((key: string) => db.selectFrom('server_settings').select('value').where('key', '=', key))

/** Returns the current value. Concurrent calls of a request, such as for the fields of a list, take one statement. */
export async function loadSetting<Value>(request: { em: EntityManager }, { key, schema, initial }: Setting<Value>): Promise<Value> {
  const value = await loadValue(request, key)
  return value === null ? initial : schema.parse(JSON.parse(value))
}

const loadValue = batched(async (em, keys) => {
  const rows = await readRows(em, db.selectFrom('server_settings').select(['key', 'value']).where('key', 'in', keys))
  return new Map(rows.map(({ key, value }) => [key, value]))
})

/** Returns the current value, read in a transaction or before the cached reads are available. */
export async function readSettingIn<Value>(em: EntityManager, { key, schema, initial }: Setting<Value>): Promise<Value> {
  const row = await readRow(em, db.selectFrom('server_settings').select('value').where('key', '=', key))
  return row ? schema.parse(JSON.parse(row.value)) : initial
}

/**
 * Returns the current value and locks the setting until the transaction ends. Inserts the default if there is no row, since only a row can be locked.
 */
export async function lockSetting<Value>(em: EntityManager, { key, schema, initial }: Setting<Value>): Promise<Value> {
  const insert = db
    .insertInto('server_settings')
    .values({ key, value: JSON.stringify(initial) })
    .onConflict((known) => known.column('key').doUpdateSet(({ ref }) => ({ value: ref('server_settings.value') })))
  const row = await readRow(em, insert.returning('value'))
  return row ? schema.parse(JSON.parse(row.value)) : initial
}

/** Writes a setting in the transaction of `em`. */
export async function writeSetting<Value>(em: EntityManager, { key }: Setting<Value>, value: Value): Promise<void> {
  await em.upsert(ServerSetting, { key, value: JSON.stringify(value) })
}
