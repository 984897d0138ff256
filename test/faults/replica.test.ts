import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Check } from '../../server/operations/doctor/check.ts'
import { type Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { environmentOf, runCommand } from '../support/admin.ts'
import { sample } from '../support/metrics.ts'
import { publish } from '../support/publish.ts'
import { databaseAt, databaseOnBoth, pause, type Replicated, startReplicated } from '../support/replicated-postgres.ts'
import { freePort } from '../support/free-port.ts'

let both: Replicated
beforeAll(async () => {
  both = await startReplicated()
}, 120_000)
afterAll(() => both.stop())

const openOn = (settings: Record<string, string>) => testApp({ env: { ...settings, METRICS_TOKEN: 'the token of the metrics' } })

const countsOf = ({ services }: TestApp) => services.database.heavyReads.replica?.counts ?? expect.fail('There is no replica.')

/** The replica answers again as soon as it has everything and was asked. */
const isUsed = async (app: TestApp, asking: () => Promise<unknown>) => {
  const before = countsOf(app).replica
  await expect.poll(async () => (await asking(), countsOf(app).replica), { interval: 50 }).toBeGreaterThan(before)
}

/** What somebody sees of a package in everything that the replica may answer. */
async function seenBy(actor: Actor, name: string) {
  const search = await actor.get(`/api/search?q=${name}`)
  const listing = await actor.get(`/api/packages/${name}`)
  const feed = await actor.get('/feed.atom')
  const names = await actor.get('/api/package-names')
  expect([search.status, feed.status, names.status]).toEqual([200, 200, 200])
  return {
    found: search.body.packages.map((one: { package: string }) => one.package).includes(name),
    versions: (listing.body.versions ?? []).map((one: { version: string; retracted?: boolean }) =>
      one.retracted ? `${one.version} retracted` : one.version,
    ),
    inFeed: String(feed.body).includes(`${name} 1.0.`),
    named: names.body.packages.includes(name),
  }
}

it('reads what weighs on the replica, within a transaction in which nothing can be written', async () => {
  await using app = await openOn(await databaseOnBoth(both))
  const owner = await app.owner()
  await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  await isUsed(app, () => owner.get('/api/search?q=acme'))
  await sleep(50)
  const before = countsOf(app).replica
  expect(await seenBy(owner, 'acme')).toEqual({ found: true, versions: ['1.0.0'], inFeed: true, named: true })
  expect((await owner.get('/api/admin/stats')).status).toBe(200)
  expect(countsOf(app).replica - before).toBeGreaterThan(5)
  const { heavyReads, reads } = app.services.database
  const where = `select pg_is_in_recovery() as "isReplica", current_setting('transaction_read_only') as "isReadOnly"`
  await isUsed(app, () => heavyReads.get(where))
  expect([await heavyReads.get(where), await reads.get(where)]).toEqual([
    { isReplica: true, isReadOnly: 'on' },
    { isReplica: false, isReadOnly: 'off' },
  ])
  await expect(heavyReads.get('select nothing')).rejects.toThrow('column "nothing" does not exist')
  expect(app.lines.join('')).toMatch(/the replica "both_\w+" on 127\.0\.0\.1:\d+ serves expensive reads/)
  const text = (await app.services.metrics?.text()) ?? ''
  expect(sample(text, 'snug_replica_up')).toBe(1)
  expect(sample(text, 'snug_replica_lag_seconds')).toBeGreaterThanOrEqual(0)
  for (const result of ['replica', 'behind', 'busy', 'away', 'refused', 'failed'] as const)
    expect(sample(text, 'snug_replica_reads_total', { result })).toBe(countsOf(app)[result])
  expect(sample(text, 'snug_database_connections_max', { pool: 'replica' })).toBe(app.config.POSTGRES_READ_POOL_MAX)
})

it.each(['on', 'off'])('shows every publish at the next request to any instance, with synchronous_commit %s', async (synchronousCommit) => {
  await using app = await openOn(await databaseOnBoth(both, { synchronousCommit }))
  await using other = await testApp({ sameDatabaseAs: app })
  const member = await app.member()
  for (let n = 0; n < 25; n++) {
    const name = `fresh_${n}`
    await publish(member, { name, version: '1.0.0' })
    for (const actor of [member.at(other), member])
      expect([n, await seenBy(actor, name)]).toEqual([n, { found: true, versions: ['1.0.0'], inFeed: true, named: true }])
  }
  await isUsed(app, () => member.get('/api/search?q=fresh'))
  await isUsed(other, () => member.at(other).get('/api/search?q=fresh'))
})

it('shows what changed at once while the replica is behind, and uses it again afterwards', async () => {
  await using app = await openOn(await databaseOnBoth(both))
  await using other = await testApp({ sameDatabaseAs: app })
  const owner = await app.owner()
  const token = (await (await owner.session()).post('/api/auth/keys', { name: 'ci', scopes: ['read'] })).body
  const ci = app.withToken(token.secret)
  await publish(owner, { name: 'acme', version: '1.0.0' })
  await publish(owner, { name: 'acme', version: '1.0.1' })
  await isUsed(other, () => ci.at(other).get('/api/search?q=acme'))
  const resume = await pause(both)
  const shown = (expected: object) =>
    expect(Promise.all([seenBy(owner, 'acme'), seenBy(owner.at(other), 'acme')])).resolves.toEqual([expected, expected])
  const seen = { found: true, inFeed: true, named: true }
  await publish(owner, { name: 'acme', version: '1.0.2' })
  await shown({ ...seen, versions: ['1.0.0', '1.0.1', '1.0.2'] })
  expect((await owner.put('/api/packages/acme/versions/1.0.2/options', { isRetracted: true })).status).toBe(200)
  await shown({ ...seen, versions: ['1.0.0', '1.0.1', '1.0.2 retracted'] })
  expect((await owner.delete('/api/admin/packages/acme/versions/1.0.1')).status).toBe(200)
  await shown({ ...seen, versions: ['1.0.0', '1.0.2 retracted'] })
  expect((await owner.put('/api/packages/acme/options', { isUnlisted: true })).status).toBe(200)
  expect(await seenBy(owner.at(other), 'acme')).toMatchObject({ found: false, inFeed: false })
  expect((await ci.at(other).get('/api/search?q=acme')).status).toBe(200)
  expect((await owner.delete(`/api/auth/keys/${token.id}`)).status).toBe(200)
  for (const place of [other, app]) expect((await ci.at(place).get('/api/search?q=acme')).status).toBe(401)
  expect((await owner.delete('/api/admin/packages/acme')).status).toBe(200)
  await shown({ found: false, inFeed: false, named: false, versions: [] })
  expect(countsOf(other).behind).toBeGreaterThan(0)
  await sleep(300)
  const text = (await app.services.metrics?.text()) ?? ''
  expect([sample(text, 'snug_replica_up'), Number(sample(text, 'snug_replica_lag_seconds')) > 0.2]).toEqual([1, true])
  expect(await replicaCheck(app)).toMatchObject({
    status: 'warning',
    message: expect.stringMatching(/lags behind by \d+\.\d seconds/),
  })
  await resume()
  for (const place of [app, other]) await isUsed(place, () => owner.at(place).get('/api/search?q=acme'))
  expect(app.lines.join('')).not.toContain('is not used')
})

it('asks the primary for tables that the replica does not have yet', async () => {
  await using app = await openOn(await databaseOnBoth(both))
  const { heavyReads, orm } = app.services.database
  await isUsed(app, () => heavyReads.get('select 1 as one'))
  await pause(both)
  await orm.em.fork().execute('create table later (n int)')
  await orm.em.fork().execute('insert into later values (7)')
  expect(await heavyReads.all('select n from later')).toEqual([{ n: 7 }])
  expect(countsOf(app).behind).toBeGreaterThan(0)
})

it('asks the primary again, without a word, when a read stands in the way of what the replica applies', async () => {
  await using app = await openOn(await databaseOnBoth(both))
  const { heavyReads, orm } = app.services.database
  const execute = (sql: string) => orm.em.getConnection().execute(sql)
  await execute('insert into write_probe (id, count) values (5, 1)')
  await isUsed(app, () => heavyReads.get('select 1 as one'))
  await sleep(300)
  const slowly = heavyReads.get(
    'select count(*)::int as n from write_probe, (select pg_sleep(case when pg_is_in_recovery() then 2 else 0 end)) s where id = 5 ',
  )
  await sleep(200)
  await execute('delete from write_probe where id = 5')
  await execute('vacuum write_probe')
  expect(await slowly).toEqual({ n: 0 })
  expect(countsOf(app)).toMatchObject({ failed: 1, away: 0 })
  expect(app.lines.join('')).not.toMatch(/failed a read|is not used/)
})

it('asks the primary, without a word, when every connection to the replica is in use', async () => {
  await using app = await openOn({ ...(await databaseOnBoth(both)), POSTGRES_READ_POOL_MAX: '1' })
  const { heavyReads } = app.services.database
  const isReplica = 'select pg_is_in_recovery() as "isReplica"'
  await isUsed(app, () => heavyReads.get(isReplica))
  await sleep(300)
  const slowly = heavyReads.get(`${isReplica}, pg_sleep(2)::text`)
  await sleep(100)
  expect(await heavyReads.get(isReplica)).toEqual({ isReplica: false })
  expect(await slowly).toMatchObject({ isReplica: true })
  expect(countsOf(app)).toMatchObject({ busy: 1, away: 0 })
  await isUsed(app, () => heavyReads.get(isReplica))
  expect(app.lines.join('')).not.toContain('is not used')
})

it('does not use what is no replica of its database, and says so', async () => {
  const foreign = 'it is not a replica of the database of POSTGRES_URL'
  for (const [nameOf, reason] of [
    [({ POSTGRES_URL = '' }) => POSTGRES_URL.replace('127.0.0.1', 'localhost'), 'it is not a replica: it is writable'],
    [() => both.standby.url, foreign],
    [() => databaseAt(process.env.TEST_POSTGRES ?? '', 'postgres'), foreign],
  ] as const) {
    const settings = await databaseOnBoth(both)
    const url = nameOf(settings)
    await using app = await openOn({ ...settings, POSTGRES_READ_URL: url })
    const owner = await app.owner()
    await publish(owner, { name: `acme_${Date.now()}`, version: '1.0.0' })
    expect((await owner.get('/api/search?q=acme')).status).toBe(200)
    const told = app.lines.filter((line) => line.includes('is not used: '))
    expect(told).toHaveLength(1)
    expect(told[0]).toContain(`${reason}. The primary serves all reads.`)
    expect(told[0]).not.toContain(new URL(url).password)
    expect(countsOf(app)).toMatchObject({ replica: 0, away: 0 })
    expect(countsOf(app).refused).toBeGreaterThan(0)
    expect(sample((await app.services.metrics?.text()) ?? '', 'snug_replica_up')).toBe(0)
    expect(await replicaCheck(app)).toMatchObject({ status: 'failed', message: expect.stringContaining(reason) })
  }
})

it('serves without a replica that is not there', async () => {
  const settings = await databaseOnBoth(both)
  const nobody = `postgres://snug:very-secret@127.0.0.1:${await freePort()}/snug`
  await using app = await openOn({ ...settings, POSTGRES_READ_URL: nobody })
  const owner = await app.owner()
  await publish(owner, { name: 'acme', version: '1.0.0' })
  expect(await seenBy(owner, 'acme')).toMatchObject({ found: true, versions: ['1.0.0'] })
  expect(app.lines.filter((line) => line.includes('is not used: connect ECONNREFUSED'))).toHaveLength(1)
  expect(countsOf(app).away).toBeGreaterThan(0)
  const text = (await app.services.metrics?.text()) ?? ''
  expect([sample(text, 'snug_replica_up'), sample(text, 'snug_replica_lag_seconds')]).toEqual([0, undefined])
  expect(await replicaCheck(app)).toMatchObject({
    status: 'warning',
    message: expect.stringContaining('does not respond: connect ECONNREFUSED'),
  })
  expect((await owner.get('/readyz')).status).toBe(200)
})

it('is looked at by the doctor', async () => {
  await using app = await openOn(await databaseOnBoth(both))
  expect(await replicaCheck(app)).toMatchObject({
    status: 'ok',
    message: expect.stringContaining('is a replica in recovery and is up to date'),
  })
})

/** What the doctor says of the replica. */
async function replicaCheck(app: TestApp): Promise<Check | undefined> {
  const environment = { ...environmentOf(app), POSTGRES_READ_URL: app.config.POSTGRES_READ_URL ?? '' }
  const { out } = await runCommand(environment, 'doctor', '--quick', '--json')
  expect(out).not.toContain(environment.POSTGRES_READ_URL)
  return JSON.parse(out).checks.find(({ name }: Check) => name === 'replica')
}
