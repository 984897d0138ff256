import { expect, it } from 'vitest'
import { verifyAudit } from '../../server/operations/admin/diagnostics.ts'
import { sealEntries } from '../../server/accounts/audit/chain.ts'
import { AuditEntry } from '../../server/accounts/audit/entity.ts'
import { verifyChain } from '../../server/accounts/audit/verify.ts'
import { type TestApp, testApp } from '../app.ts'
import { addEntries, dropAuditTriggers } from '../support/audit.ts'
import { anotherInstance } from '../support/instances.ts'

const seal = ({ services }: TestApp) => sealEntries(services)
const verify = ({ services }: TestApp, known?: string) => verifyChain(services.database.fork(), services.now(), known)
const runVerifyCommand = async ({ services, config }: TestApp, known?: string) => {
  const { text, ok } = await verifyAudit({ em: services.database.fork(), config }, known)
  return ok ? text : { wrong: text }
}
const execute = ({ services }: TestApp, sql: string) => services.database.orm.em.execute(sql)
const addLoginEntries = async (app: TestApp, count: number) =>
  addEntries(app, count, (n) => ({ kind: 'user.login', summary: `entry ${n}` }))

it('adds every entry to the chain once, including older ones', async () => {
  await using app = await testApp()
  await addLoginEntries(app, 1201)
  expect(await verify(app)).toEqual({ entries: 0, deleted: 0, head: null, unsealed: 1201, problems: [] })
  await seal(app)
  const first = await verify(app)
  expect(first).toEqual({ entries: 1201, deleted: 0, head: expect.stringMatching(/^[0-9a-f]{64}$/), unsealed: 0, problems: [] })
  expect(app.lines.at(-1)).toContain(`audit log: sealed 1201 entries up to position 1201, hash ${first.head}`)
  await seal(app)
  await addLoginEntries(app, 3)
  await seal(app)
  const second = await verify(app, first.head ?? '')
  expect(second).toMatchObject({ entries: 1204, unsealed: 0, problems: [] })
  expect(second.head).not.toBe(first.head)
})

it('does not fork when instances write and seal concurrently', async () => {
  await using app = await testApp()
  await using instance = await anotherInstance(app)
  const other = instance ?? app
  await addLoginEntries(app, 700)
  await Promise.all([seal(app), seal(other), addLoginEntries(app, 40), seal(other), seal(app), addLoginEntries(other, 40)])
  await seal(app)
  expect(await verify(app)).toMatchObject({ entries: 780, unsealed: 0, problems: [] })
})

it.each([0, 25])('adds an entry that was committed after younger ones, %i hours earlier', async (hours) => {
  await using app = await testApp()
  const late = app.services.database.fork()
  late.create(AuditEntry, { kind: 'user.login', summary: 'late', clientIp: null })
  await addLoginEntries(app, 2)
  await seal(app)
  await late.flush()
  app.clock.now = new Date(Date.now() + hours * 3_600_000)
  await seal(app)
  expect(await verify(app)).toMatchObject({ entries: 3, unsealed: 0, problems: [] })
})

it('detects entries that were changed, removed, added or rewritten', async () => {
  await using app = await testApp()
  await addLoginEntries(app, 6)
  await seal(app)
  const { head } = await verify(app)
  await expect(runVerifyCommand(app)).resolves.toBe(`The audit log is unchanged. Entries in the chain: 6; the last hash is ${head}.`)
  await expect(runVerifyCommand(app, head ?? '')).resolves.toContain('is unchanged')
  const ids = (await app.services.database.reads.all<{ id: string }>('select id from audit_entries order by id')).map(({ id }) => id)
  for (const table of ['audit_entries', 'audit_chain']) {
    await expect(execute(app, `delete from ${table}`)).rejects.toThrow(/never changed/)
    await expect(execute(app, `update ${table} set ${table === 'audit_chain' ? "hash = 'x'" : "kind = 'x'"}`)).rejects.toThrow(
      /never changed/,
    )
  }
  await dropAuditTriggers(app)
  await execute(app, `update audit_entries set summary = 'nothing happened' where id = '${ids[1]}'`)
  await execute(app, `delete from audit_entries where id = '${ids[3]}'`)
  await execute(app, `delete from audit_chain where entry_id = '${ids[4]}'`)
  const { problems } = await verify(app, head ?? '')
  expect(problems).toEqual([
    `The entry ${ids[1]} at position 2, or its hash, was changed.`,
    `The entry ${ids[3]} at position 4 was removed.`,
    'The chain lacks the positions 5 to 5.',
    `The entry ${ids[5]} at position 6, or its hash, was changed.`,
  ])
  expect(await runVerifyCommand(app)).toMatchObject({
    wrong: expect.stringMatching(/at position 4 was removed\.[^]*\nEntries in the chain: 6\. Not yet in the chain: 1;/),
  })
  app.clock.now = new Date(Date.now() + 2 * 3_600_000)
  expect((await verify(app)).problems.at(-1)).toMatch(/^Entries older than an hour that are not in the chain: 1\./)
  await execute(app, 'delete from audit_chain')
  app.clock.now = null
  await seal(app)
  expect((await verify(app)).problems).toEqual([])
  expect((await verify(app, head ?? '')).problems).toEqual([
    `The hash ${head} is not in the chain. The chain was rebuilt, its end was removed, or an older backup was restored.`,
  ])
})

it('detects entries missing from the end, also after a restore, when an earlier hash is known', async () => {
  await using app = await testApp()
  await addLoginEntries(app, 4)
  await seal(app)
  const { head } = await verify(app)
  await dropAuditTriggers(app)
  await execute(app, 'delete from audit_entries where id in (select entry_id from audit_chain where position > 2)')
  await execute(app, 'delete from audit_chain where position > 2')
  expect(await verify(app)).toMatchObject({ entries: 2, problems: [] })
  await addLoginEntries(app, 2)
  await seal(app)
  expect(await runVerifyCommand(app, head ?? '')).toMatchObject({ wrong: expect.stringContaining(`The hash ${head} is not in the chain.`) })
})
