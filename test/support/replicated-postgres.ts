import { Client } from 'pg'
import { expect, onTestFinished } from 'vitest'
import { type Postgres, startPostgres } from './postgres-server.ts'

/** PostgreSQL server with a standby that replicates it. */
export type Replicated = { primary: Postgres; standby: Postgres; stop: () => Promise<void> }

/** Starts a server and its standby. Commits are flushed, and so sent to the standby immediately, as is the default of PostgreSQL. */
export async function startReplicated(): Promise<Replicated> {
  const primary = await startPostgres({ synchronous_commit: 'on' })
  const standby = await primary.standby({ max_standby_streaming_delay: '0' }).catch(async (error: unknown) => {
    await primary.stop()
    throw error
  })
  const stop = async () => {
    await standby.stop()
    await primary.stop()
  }
  return { primary, standby, stop }
}

/** Creates a database, waits until the standby has it, and returns the environment variables of a server that uses both. */
export async function databaseOnBoth({ primary, standby }: Replicated, { synchronousCommit = 'on' } = {}): Promise<Record<string, string>> {
  const name = `both_${Date.now().toString(36)}_${++made}`
  await runSql(primary.url, `create database ${name}`)
  await runSql(primary.url, `alter database ${name} set synchronous_commit = ${synchronousCommit}`)
  const isThere = async () => (await runSql(standby.url, `select 1 from pg_database where datname = '${name}'`)).length === 1
  await expect.poll(isThere).toBe(true)
  return { DB_BACKEND: 'postgres', POSTGRES_URL: databaseAt(primary.url, name), POSTGRES_READ_URL: databaseAt(standby.url, name) }
}

let made = 0

/** Returns the URL of another database of the same server. */
export function databaseAt(url: string, name: string): string {
  const at = new URL(url)
  at.pathname = `/${name}`
  return at.href
}

/** Runs a statement on a new connection and returns the rows. */
export async function runSql<Row>(url: string, sql: string): Promise<Row[]> {
  const client = new Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows as Row[]
  } finally {
    await client.end()
  }
}

/** Pauses replay on the standby until the test ends or the returned function is called. */
export async function pause({ standby }: Replicated): Promise<() => Promise<unknown>> {
  const resume = () => runSql(standby.url, 'select pg_wal_replay_resume()')
  onTestFinished(async () => void (await resume()))
  await runSql(standby.url, 'select pg_wal_replay_pause()')
  return resume
}
