import { expect, it } from 'vitest'
import { enqueueDomainChecks } from '../../server/registry/publishers/domain-check.ts'
import { testApp } from '../app.ts'
import { startDns } from '../support/dns-server.ts'
import { runJobs } from '../support/jobs.ts'
import { publish } from '../support/publish.ts'

const host = '_svc-verify.acme.dev'
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** Starts a server with a verified publisher that owns a package, and the DNS server it queries. */
async function createVerifiedPublisher() {
  const dns = await startDns()
  const app = await testApp({ env: { DNS_SERVERS: dns.address }, now: new Date('2026-01-01T00:00:00Z') })
  const alice = await app.member()
  const { value } = (await alice.post('/api/publishers/verify/start', { domain: 'acme.dev', displayName: 'Acme' })).body as {
    value: string
  }
  dns.zone[host] = [[value]]
  await alice.post('/api/publishers/verify/complete', { domain: 'acme.dev' })
  await publish(alice, { name: 'acme', version: '1.0.0' })
  await alice.put('/api/packages/acme/publisher', { publisherId: 'acme.dev' })
  dns.questions.length = 0
  const later = async (ms: number) => {
    app.clock.now = new Date((app.clock.now?.getTime() ?? 0) + ms)
    await enqueueDomainChecks(app.services)
    await runJobs(app)
  }
  const isVerified = async () => (await alice.get('/api/publishers/acme.dev')).body.isVerified as boolean
  const check = async (actor = alice) => (await actor.get('/api/publishers/acme.dev/domain-check')).body.domainCheck
  const kinds = async () => {
    const { entries } = (await (await app.admin()).get('/api/admin/audit-log?publisher=acme.dev')).body
    return (entries as { kind: string; summary: string }[]).map(({ kind, summary }) => `${kind}: ${summary}`)
  }
  const dispose = async () => {
    await app[Symbol.asyncDispose]()
    await dns[Symbol.asyncDispose]()
  }
  return { app, dns, alice, value, later, isVerified, check, kinds, [Symbol.asyncDispose]: dispose }
}

it('checks a verified domain weekly and removes the verification when the record is gone', async () => {
  await using t = await createVerifiedPublisher()
  await t.later(6 * dayMs)
  expect(t.dns.questions).toEqual([])
  await t.later(dayMs)
  await t.later(dayMs)
  expect(t.dns.questions).toEqual([`TXT ${host}`])
  expect(await t.isVerified()).toBe(true)

  delete t.dns.zone[host]
  await t.later(7 * dayMs)
  await t.later(10 * minuteMs)
  // One or two negative DNS answers do not remove the verification.
  expect(await t.isVerified()).toBe(true)
  await t.later(10 * minuteMs)
  expect(await t.isVerified()).toBe(false)
  const problem = `There is no TXT record: ${host} must have the value ${t.value}.`
  const lostAt = t.app.clock.now?.toISOString()
  expect(await t.check()).toMatchObject({ host, value: t.value, checkedAt: lostAt, lostAt, problem })
  // Everyone sees that the publisher is not verified, but only its admins see why.
  expect(await t.check(await t.app.member())).toBeNull()
  expect(await t.check(await t.app.admin())).toMatchObject({ problem })
  expect((await t.kinds())[0]).toBe('publisher.updated: The TXT record of acme.dev is gone: the publisher is no longer verified')
  // The packages remain available.
  await publish(t.alice, { name: 'acme', version: '1.1.0' })

  t.dns.zone[host] = [['v=spf1 -all'], [t.value]]
  await t.later(dayMs)
  expect(await t.isVerified()).toBe(true)
  expect(await t.check()).toMatchObject({ lostAt: null, problem: null })
  expect((await t.kinds())[0]).toBe('publisher.verified: The TXT record of acme.dev is there again: the publisher is verified')
})

it.each(['servfail', 'refused', 'silent'] as const)('keeps the state while the DNS server is %s and retries in an hour', async (state) => {
  await using t = await createVerifiedPublisher()
  t.dns.zone[host] = state
  for (let hour = 0; hour < (state === 'silent' ? 1 : 5); hour++) await t.later(hour === 0 ? 7 * dayMs : 60 * minuteMs)
  expect(await t.isVerified()).toBe(true)
  expect(await t.check()).toMatchObject({ lostAt: null, checkedAt: '2026-01-01T00:00:00.000Z' })
  t.dns.zone[host] = [[t.value]]
  await t.later(60 * minuteMs)
  expect(await t.check()).toMatchObject({ checkedAt: t.app.clock.now?.toISOString() })
})

it('is checked immediately on request of its admins, in REST and GraphQL', async () => {
  await using t = await createVerifiedPublisher()
  const path = '/api/publishers/acme.dev/domain-check'
  t.dns.zone[host] = [['svc-verify=0000000000000000000000000000000000000000']]
  expect(await t.alice.post(path)).toMatchObject({
    status: 200,
    body: { isVerified: false, domainCheck: { problem: expect.stringContaining('There are other TXT records, but not the expected one') } },
  })
  expect((await t.kinds())[0]).toContain('no longer verified')
  t.dns.zone[host] = [[t.value]]
  const id = (await t.alice.graphql('{ publisher(slug: "acme.dev") { id } }')).body.data.publisher.id as string
  const mutation = 'mutation ($id: ID!) { checkPublisherDomain(input: { id: $id }) { publisher { isVerified domainCheck { problem } } } }'
  expect((await t.alice.graphql(mutation, { id })).body.data.checkPublisherDomain.publisher).toEqual({
    isVerified: true,
    domainCheck: { problem: null },
  })
  t.dns.zone[host] = 'servfail'
  expect(await t.alice.post(path)).toMatchObject({ status: 503, body: { error: { code: 'VerificationTemporarilyUnavailable' } } })
  expect(await t.isVerified()).toBe(true)
  expect(await (await t.app.member()).post(path)).toMatchObject({ status: 403 })
  const admin = await t.app.admin()
  await admin.post('/api/publishers', { id: 'plain-one', displayName: 'Plain' })
  expect(await admin.post('/api/publishers/plain-one/domain-check')).toMatchObject({ status: 400 })
  expect((await admin.get('/api/publishers/plain-one/domain-check')).body).toEqual({ domainCheck: null })
  expect(await admin.post('/api/publishers/unknown/domain-check')).toMatchObject({ status: 404 })
})

it('accepts any verification record for publishers verified before values were stored', async () => {
  await using t = await createVerifiedPublisher()
  const forget = () => t.app.services.database.fork().execute('update domain_checks set token = null')
  await forget()
  expect(await t.check()).toMatchObject({ value: null })
  await t.later(7 * dayMs)
  expect([await t.isVerified(), (await t.check()).value]).toEqual([true, t.value])
  await forget()
  delete t.dns.zone[host]
  await t.alice.post('/api/publishers/acme.dev/domain-check')
  const { value, problem } = await t.check()
  expect([await t.isVerified(), problem]).toEqual([false, `There is no TXT record: ${host} must have the value ${value}.`])
  t.dns.zone[host] = [[value]]
  await t.later(dayMs)
  expect(await t.isVerified()).toBe(true)
})

it('runs once for concurrent requests', async () => {
  await using t = await createVerifiedPublisher()
  t.app.clock.now = new Date('2026-01-08T00:00:00Z')
  await Promise.all([enqueueDomainChecks(t.app.services), enqueueDomainChecks(t.app.services)])
  await Promise.all([runJobs(t.app), runJobs(t.app)])
  expect(t.dns.questions).toEqual([`TXT ${host}`])
})

it('is never overwritten by an older answer', async () => {
  await using t = await createVerifiedPublisher()
  t.app.clock.now = null
  const { services } = t.app
  let admin = t.alice
  for (let round = 0; round < 50; round++) {
    // The next negative answer removes the verification.
    delete t.dns.zone[host]
    await services.database.fork().execute('update domain_checks set misses = 2, due_at = checked_at')
    await enqueueDomainChecks(services)
    // Uses a new user from time to time, because requests per user are limited.
    if (round % 25 === 0) admin = await t.app.admin()
    const looked = runJobs(t.app)
    await new Promise((resolve) => setTimeout(resolve, round % 10))
    t.dns.zone[host] = [[t.value]]
    const [answer] = await Promise.all([admin.post('/api/publishers/acme.dev/domain-check'), looked])
    expect({ round, status: answer.status }).toEqual({ round, status: 200 })
    expect({ round, isVerified: await t.isVerified() }).toEqual({ round, isVerified: true })
  }
})
