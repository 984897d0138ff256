import { expect, it } from 'vitest'
import { testApp } from '../app.ts'

it('has migrations that match the entities', async () => {
  await using app = await testApp()
  expect((await app.services.database.orm.schema.getUpdateSchemaSQL({ safe: false })).trim()).toBe('')
})

it('refuses changes to audit entries', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await alice.post('/api/auth/keys', { name: 'x' })
  const connection = app.services.database.orm.em.getConnection()
  for (const sql of ["update audit_entries set summary = 'nothing happened'", 'delete from audit_entries']) {
    await expect(connection.execute(sql)).rejects.toThrow(/audit entries are never changed/)
  }
  expect((await app.services.database.reads.all('select id from audit_entries')).length).toBe(1)
})
