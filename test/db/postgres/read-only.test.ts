import { Client } from 'pg'
import { expect, it } from 'vitest'
import { testApp } from '../../app.ts'
import { publish } from '../../support/publish.ts'

it('serves reads while PostgreSQL is read-only, as managed databases without free space are, and reports that', async () => {
  await using app = await testApp({ alone: true })
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await using admin = await connect(app.config.POSTGRES_URL ?? '')
  const terminate = 'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
  const setReadOnly = async (value: 'on' | 'off') => {
    await admin.query(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = ${value}', current_database()); end $$`,
    )
    await admin.query(terminate)
  }
  const health = async () => (await app.anonymous.get('/api/v1/health')).body
  await setReadOnly('on')
  await expect.poll(async () => (await alice.get('/api/packages/acme')).status).toBe(200)
  await expect.poll(async () => (await app.anonymous.get('/readyz')).status).toBe(200)
  expect(await alice.post('/api/auth/keys', { name: 'ci', scopes: ['read'] })).toMatchObject({ status: 503 })
  expect(await health()).toMatchObject({
    status: 'degraded',
    checks: { metadata_store: { status: 'error' }, search_index: { status: 'ok' } },
  })
  await admin.query('set default_transaction_read_only = off')
  await setReadOnly('off')
  await expect.poll(async () => (await health()).status).toBe('ok')
})

async function connect(url: string) {
  const client = new Client(url)
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}
