import { Client } from 'pg'
import { expect, it } from 'vitest'
import { openUnlocked } from '../../../server/platform/db/open/orm.ts'
import { db } from '../../../server/platform/db/query.ts'
import { readRow } from '../../../server/platform/db/statements.ts'
import { testApp } from '../../app.ts'

it('keeps a command running when PostgreSQL ends its idle connection, and converts rows as the server does', async () => {
  await using app = await testApp({ alone: true })
  await app.member()
  const orm = await openUnlocked(app.config)
  const admin = new Client(app.config.POSTGRES_URL)
  await admin.connect()
  const users = db.selectFrom('users').select(({ fn }) => [fn.max('created_at').as('last'), fn.countAll<number>().as('total')])
  const expected = { last: expect.any(Date), total: expect.any(Number) }
  try {
    expect(await readRow(orm.em.fork(), users)).toEqual(expected)
    await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    await expect.poll(() => readRow(orm.em.fork(), users).catch(() => null)).toEqual(expected)
  } finally {
    await admin.end()
    await orm.close(true)
  }
})
