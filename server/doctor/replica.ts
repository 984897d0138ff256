import type { EntityManager } from '@mikro-orm/sql'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Config } from '../config/config.ts'
import { nameOfReplica } from '../db/postgres/replica.ts'
import { type Position, positionSql, readPosition, type Standing, standingOf } from '../db/postgres/replica-position.ts'
import { type Check, examine, messageOf } from './check.ts'

const timeoutMs = 3000

/** Looks whether the replica answers, is one of this database, and how far behind it is. `em` is null when the database cannot be asked. */
export async function examineReplica(config: Config, em: EntityManager | null): Promise<Check[]> {
  const { POSTGRES_READ_URL: url } = config
  if (url === undefined || !em) return []
  const name = nameOfReplica(config).replace(/^the /, 'The ')
  return examine('replica', async () => {
    const [row] = await em.getConnection().execute<object[]>(positionSql)
    const position = readPosition(row)
    return [{ name: 'replica', ...(await look(url, position).then((standing) => judge(name, standing), away(name))) }]
  })
}

const away = (name: string) => (error: unknown) => ({
  status: 'warning' as const,
  message: `${name} does not answer: ${messageOf(error)}`,
  advice: 'Until it does, the database of POSTGRES_URL answers everything. Check that it runs, the address, and the account.',
})

function judge(name: string, standing: Standing): Omit<Check, 'name'> {
  if (standing.state === 'refused')
    return {
      status: 'failed',
      message: `${name} is not used: ${standing.reason}.`,
      advice: 'Name a streaming replica of the database of POSTGRES_URL in POSTGRES_READ_URL, or take the setting away.',
    }
  if (standing.state === 'current') return { status: 'ok', message: `${name} answers, is in recovery, and has all that the primary has.` }
  const age = standing.lagSeconds === null ? '' : `: what it has is ${standing.lagSeconds.toFixed(1)} seconds old`
  return {
    status: 'warning',
    message: `${name} answers, is in recovery, and is behind${age}.`,
    advice: 'Reads wait for no replica: the primary answers them. If it stays so, look at its log and at pg_stat_replication.',
  }
}

async function look(url: string, position: Position): Promise<Standing> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs })
  client.on('error', () => {})
  try {
    await client.connect()
    // What was written just now may be on its way.
    for (let tries = 1; tries < 10; tries++) {
      const standing = await standingOf(client, position)
      if (standing.state !== 'behind') return standing
      await sleep(100)
    }
    return await standingOf(client, position)
  } finally {
    void client.end().catch(() => {})
  }
}
