import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { addEntries, dropAuditTriggers } from '../support/audit.ts'
import { execute, addOldEntries, deleteExpired, rowsOf, seal, set, verify } from '../support/retention.ts'

it('refuses deletion by SQL unless entries are sealed, older than 90 days and recorded', async () => {
  await using app = await testApp()
  await addOldEntries(app, 3, 200)
  await addOldEntries(app, 3, 80)
  await seal(app)
  const links = await rowsOf(app, 'select position, hash, entry_id from audit_chain order by position')
  const [third, fourth, last] = [links[2], links[3], links[5]]
  const record = async (hash: string | undefined, kind = 'server.audit_entries_deleted') => {
    await addEntries(app, 1, () => ({ kind, summary: `up to ${hash}` }))
    return (await rowsOf(app, 'select id from audit_entries order by id desc limit 1'))[0]?.id
  }
  const moment = app.config.DB_BACKEND === 'sqlite' ? '0' : "'2020-01-01'"
  const cut = (entryId: string | undefined, { position, hash }: Record<string, string> = {}) =>
    execute(app, `insert into audit_cuts (entry_id, position, hash, kept_from) values ('${entryId}', ${position}, '${hash}', ${moment})`)
  for (const [entryId, place] of [
    [await record(fourth?.hash), fourth],
    [await record(last?.hash), last],
    [await record(third?.hash, 'user.login'), third],
    [await record(fourth?.hash), third],
    [await record(fourth?.hash), { ...third, hash: fourth?.hash ?? '' }],
    [third?.entry_id, third],
  ] as const)
    await expect(cut(entryId, place)).rejects.toThrow(/more than 90 days ago/)
  await cut(await record(third?.hash), third)
  await expect(cut(await record(links[1]?.hash), links[1])).rejects.toThrow(/more than 90 days ago/)
  for (const statement of [
    'delete from audit_cuts',
    'update audit_cuts set position = 6',
    'delete from audit_entries',
    'delete from audit_chain',
    // Otherwise an entry outside the chain would remain.
    'delete from audit_chain where position = 1',
    `delete from audit_entries where id = '${fourth?.entry_id}'`,
    ...(app.config.DB_BACKEND === 'sqlite'
      ? [
          'insert or replace into audit_cuts select entry_id, 5, hash, 0 from audit_cuts',
          'replace into audit_chain select entry_id, position, 1 from audit_chain',
        ]
      : ['truncate audit_cuts', 'truncate audit_chain', 'truncate audit_entries']),
  ])
    await expect(execute(app, statement), statement).rejects.toThrow(/audit entries are never changed|more than 90 days ago/)
  expect((await verify(app)).problems).toEqual(['Links up to position 3 exist, although they were deleted.'])
  await execute(app, 'delete from audit_entries where id in (select entry_id from audit_chain where position <= 3)')
  await execute(app, 'delete from audit_chain where position <= 3')
  expect(await verify(app)).toMatchObject({ deleted: 3, entries: 3, problems: [] })
})

it('refuses to assign the position of a deleted entry to an entry outside the chain', async () => {
  await using app = await testApp()
  await addOldEntries(app, 3, 200)
  await addOldEntries(app, 1, 80)
  await seal(app)
  await set(app, 90)
  await seal(app)
  await deleteExpired(app)
  const theirs = "where kind = 'server.audit_entries_deleted'"
  const link = (position: number) => execute(app, `insert into audit_chain select id, ${position}, 'x' from audit_entries ${theirs}`)
  for (const position of [3, 2, 0, -1]) await expect(link(position)).rejects.toThrow(/never changed/)
  // Simulates an insert on PostgreSQL while earlier entries are being deleted.
  await execute(app, `drop trigger audit_chain_keep_order${app.config.DB_BACKEND === 'postgres' ? ' on audit_chain' : ''}`)
  await link(2)
  await expect(execute(app, `delete from audit_entries ${theirs}`)).rejects.toThrow(/never changed/)
})

it('detects a beginning that was cut off without a recorded deletion', async () => {
  await using app = await testApp()
  await addOldEntries(app, 4, 1)
  await seal(app)
  await dropAuditTriggers(app)
  await execute(
    app,
    'insert into audit_cuts select entry_id, position, hash, (select min(created_at) from audit_entries) from audit_chain where position = 2',
  )
  for (const table of ['audit_entries where id in (select entry_id from audit_chain where position < 3)', 'audit_chain where position < 3'])
    await execute(app, `delete from ${table}`)
  expect((await verify(app)).problems).toEqual(['The audit entry about the deletion of entries up to position 2 is missing.'])
})
