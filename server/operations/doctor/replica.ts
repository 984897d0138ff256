import type { EntityManager } from '@mikro-orm/sql'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Config } from '../../platform/config/config.ts'
import { nameOfReplica } from '../../platform/db/postgres/replica.ts'
import { type Position, positionSql, readPosition, type ReplicaState, replicaStateOf } from '../../platform/db/postgres/replica-position.ts'
import { type Check, examine, messageOf } from './check.ts'

const timeoutMs = 3000

/** Checks that the replica responds and belongs to this database, and how far it lags behind. `em` is null if the database is unavailable. */
export async function examineReplica(config: Config, em: EntityManager | null): Promise<Check[]> {
  const { POSTGRES_READ_URL: url } = config
  if (url === undefined || !em) return []
  const name = nameOfReplica(config).replace(/^the /, 'The ')
  return examine('replica', async () => {
    const [row] = await em.getConnection().execute<object[]>(positionSql)
    const position = readPosition(row)
    return [
      { name: 'replica', ...(await readStanding(url, position).then((standing) => describeStanding(name, standing), unavailable(name))) },
    ]
  })
}

const unavailable = (name: string) => (error: unknown) => ({
  status: 'warning' as const,
  message: `${name} does not respond: ${messageOf(error)}`,
  advice:
    'Until it does, all reads use the primary (POSTGRES_URL). Check that the replica is running, and check its address and credentials.',
})

function describeStanding(name: string, standing: ReplicaState): Omit<Check, 'name'> {
  if (standing.state === 'refused')
    return {
      status: 'failed',
      message: `${name} is not used: ${standing.reason}.`,
      advice: 'Set POSTGRES_READ_URL to a streaming replica of the database in POSTGRES_URL, or remove the setting.',
    }
  if (standing.state === 'current') return { status: 'ok', message: `${name} is a replica in recovery and is up to date.` }
  const age = standing.lagSeconds === null ? '' : ` by ${standing.lagSeconds.toFixed(1)} seconds`
  return {
    status: 'warning',
    message: `${name} is a replica in recovery and lags behind${age}.`,
    advice:
      'Reads do not wait for the replica: the primary serves them. If this persists, check the log of the replica and pg_stat_replication.',
  }
}

async function readStanding(url: string, position: Position): Promise<ReplicaState> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs })
  client.on('error', () => {})
  try {
    await client.connect()
    // Recent writes may still be in transit.
    for (let tries = 1; tries < 10; tries++) {
      const standing = await replicaStateOf(client, position)
      if (standing.state !== 'behind') return standing
      await sleep(100)
    }
    return await replicaStateOf(client, position)
  } finally {
    void client.end().catch(() => {})
  }
}
