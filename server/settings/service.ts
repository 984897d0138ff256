import type { EntityManager } from '@mikro-orm/sql'
import type { z } from 'zod'
import type { Reads } from '../db/reads/reads.ts'
import { ServerSetting } from './entity.ts'

/** A setting: its key, what it looks like, and what it is until somebody changes it. */
export type Setting<Value> = { key: string; schema: z.ZodType<Value>; initial: Value }

/** What the setting is now. One keyed read, remembered where that is safe. */
export async function readSetting<Value>(reads: Reads, { key, schema, initial }: Setting<Value>): Promise<Value> {
  const row = await reads.recall<{ value: string }>('select value from server_settings where key = ?', key)
  return row ? schema.parse(JSON.parse(row.value)) : initial
}

/** What the setting is for a transaction, or before the reads are open. */
export async function readSettingIn<Value>(em: Pick<EntityManager, 'execute'>, { key, schema, initial }: Setting<Value>): Promise<Value> {
  const [row]: { value: string }[] = await em.execute('select value from server_settings where key = ?', [key])
  return row ? schema.parse(JSON.parse(row.value)) : initial
}

/**
 * What the setting is now, for a change that depends on it: until the end of the transaction of `em`, whoever else locks or changes it waits.
 * A setting without a row gets one, so that there is something to lock.
 */
export async function lockSetting<Value>(em: EntityManager, { key, schema, initial }: Setting<Value>): Promise<Value> {
  const [row] = await em.execute<{ value: string }[]>(
    `insert into server_settings (key, value) values (?, ?)
     on conflict (key) do update set value = server_settings.value returning value`,
    [key, JSON.stringify(initial)],
  )
  return row ? schema.parse(JSON.parse(row.value)) : initial
}

/** Changes the setting in the transaction of `em`. */
export async function writeSetting<Value>(em: EntityManager, { key }: Setting<Value>, value: Value): Promise<void> {
  await em.upsert(ServerSetting, { key, value: JSON.stringify(value) })
}
