import type { EntityManager } from '@mikro-orm/sql'
import type { z } from 'zod'
import { batched } from '../db/batched.ts'
import type { Reads } from '../db/reads.ts'
import { ServerSetting } from './entity.ts'

/** A setting: its key, its schema and its default value. */
export type Setting<Value> = { key: string; schema: z.ZodType<Value>; initial: Value }

/** Returns the current value of a setting with one cached read. */
export async function readSetting<Value>(reads: Reads, { key, schema, initial }: Setting<Value>): Promise<Value> {
  const row = await reads.recall<{ value: string }>('select value from server_settings where key = ?', key)
  return row ? schema.parse(JSON.parse(row.value)) : initial
}

/** Returns the current value. Concurrent calls of a request, such as for the fields of a list, take one statement. */
export async function loadSetting<Value>(request: { em: EntityManager }, { key, schema, initial }: Setting<Value>): Promise<Value> {
  const value = await loadValue(request, key)
  return value === null ? initial : schema.parse(JSON.parse(value))
}

const loadValue = batched(async (em, keys) => {
  const rows = await em.execute<ServerSetting[]>(
    `select key, value from server_settings where key in (${keys.map(() => '?').join(', ')})`,
    keys,
  )
  return new Map(rows.map(({ key, value }) => [key, value]))
})

/** Returns the current value, read in a transaction or before the cached reads are available. */
export async function readSettingIn<Value>(em: Pick<EntityManager, 'execute'>, { key, schema, initial }: Setting<Value>): Promise<Value> {
  const [row]: { value: string }[] = await em.execute('select value from server_settings where key = ?', [key])
  return row ? schema.parse(JSON.parse(row.value)) : initial
}

/**
 * Returns the current value and locks the setting until the transaction ends. Inserts the default if there is no row, since only a row can be locked.
 */
export async function lockSetting<Value>(em: EntityManager, { key, schema, initial }: Setting<Value>): Promise<Value> {
  const [row] = await em.execute<{ value: string }[]>(
    `insert into server_settings (key, value) values (?, ?)
     on conflict (key) do update set value = server_settings.value returning value`,
    [key, JSON.stringify(initial)],
  )
  return row ? schema.parse(JSON.parse(row.value)) : initial
}

/** Writes a setting in the transaction of `em`. */
export async function writeSetting<Value>(em: EntityManager, { key }: Setting<Value>, value: Value): Promise<void> {
  await em.upsert(ServerSetting, { key, value: JSON.stringify(value) })
}
