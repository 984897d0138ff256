import { describe, expect, it } from 'vitest'
import { type Actor, statuses } from '../actor.ts'
import { testApp } from '../app.ts'
import { startDns } from '../support/dns-server.ts'

const host = '_svc-verify.acme.dev'
const claim = { domain: 'acme.dev', displayName: 'Acme' }
const start = (actor: Actor, body: unknown = claim) => actor.post('/api/publishers/verify/start', body)
const complete = (actor: Actor, domain = 'acme.dev') => actor.post('/api/publishers/verify/complete', { domain })
const error = (status: number, code: string, message: unknown = expect.any(String)) => ({ status, body: { error: { code, message } } })

/** Starts a server that uses the DNS server of the test. */
async function startRegistry() {
  const dns = await startDns()
  const app = await testApp({ env: { DNS_SERVERS: dns.address }, now: new Date('2026-01-01T00:00:00Z') })
  const alice = await app.member()
  const dispose = async () => {
    await app[Symbol.asyncDispose]()
    await dns[Symbol.asyncDispose]()
  }
  return { app, dns, alice, [Symbol.asyncDispose]: dispose }
}

describe('the verification of a domain', () => {
  it('returns a TXT record to add and creates the publisher once it exists', async () => {
    await using t = await startRegistry()
    const { status, body } = await start(t.alice)
    expect(status).toBe(200)
    expect(body).toEqual({
      domain: 'acme.dev',
      host,
      value: expect.stringMatching(/^svc-verify=[0-9a-f]{40}$/),
      expiresAt: '2026-01-02T00:00:00.000Z',
    })
    t.dns.zone[host] = [['v=spf1 -all'], [body.value]]
    expect(await complete(t.alice)).toMatchObject({
      status: 201,
      body: { id: 'acme.dev', displayName: 'Acme', isVerified: true, members: [{ userId: t.alice.id, role: 'admin' }] },
    })
    // Only the TXT record of this name was queried.
    expect(new Set(t.dns.questions)).toEqual(new Set([`TXT ${host}`]))
    const log = await (await t.app.admin()).get('/api/admin/audit-log?publisher=acme.dev')
    expect(log.body.entries.map(({ kind }: { kind: string }) => kind)).toEqual(['publisher.verified', 'publisher.created'])
    expect(await t.app.services.database.reads.all('select * from publisher_claims')).toEqual([])
  })

  it('joins the strings of a TXT record and ignores case in the domain', async () => {
    await using t = await startRegistry()
    const { value } = (await start(t.alice, { ...claim, domain: ' ACME.dev. ' })).body
    t.dns.zone[host] = [[value.slice(0, 20), value.slice(20)]]
    expect(await complete(t.alice, 'Acme.DEV')).toMatchObject({ status: 201, body: { id: 'acme.dev' } })
  })

  it('reads answers that are too long for UDP', async () => {
    await using t = await startRegistry()
    const { value } = (await start(t.alice)).body
    t.dns.zone[host] = [...Array.from({ length: 30 }, (_, n) => [`${n}${'x'.repeat(200)}`]), [value]]
    expect(await complete(t.alice)).toMatchObject({ status: 201 })
  })

  it.each([
    ['a name that does not exist', () => undefined],
    ['a name without TXT records', () => []],
    ['another value', () => [['svc-verify=0000000000000000000000000000000000000000']]],
    ['the value in another case', (value: string) => [[value.toUpperCase()]]],
    ['additional text around the value', (value: string) => [[`${value} `], [`x ${value}`]]],
    ['the value in two records', (value: string) => [[value.slice(0, 9)], [value.slice(9)]]],
  ])('refuses %s and names host and value', async (_what, records) => {
    await using t = await startRegistry()
    const { value } = (await start(t.alice)).body as { value: string }
    const answer = records(value)
    if (answer) t.dns.zone[host] = answer
    const failure = await complete(t.alice)
    expect(failure).toMatchObject(error(400, 'InvalidInput', expect.stringContaining(host)))
    expect(failure.body.error.message).toContain(value)
    t.dns.zone[host] = [[value]]
    expect(await complete(t.alice)).toMatchObject({ status: 201 })
  })

  it.each(['servfail', 'refused', 'silent'] as const)(
    'answers 503 while the resolver is %s',
    async (state) => {
      await using t = await startRegistry()
      const { value } = (await start(t.alice)).body
      t.dns.zone[host] = state
      const failure = await complete(t.alice)
      expect(failure).toMatchObject(error(503, 'VerificationTemporarilyUnavailable'))
      expect(failure.headers['retry-after']).toBe('60')
      t.dns.zone[host] = [[value]]
      expect(await complete(t.alice)).toMatchObject({ status: 201 })
    },
    20_000,
  )

  it('answers 503 while no server listens at DNS_SERVERS', async () => {
    const gone = await startDns()
    await gone[Symbol.asyncDispose]()
    await using app = await testApp({ env: { DNS_SERVERS: gone.address } })
    const alice = await app.member()
    await start(alice)
    expect(await complete(alice)).toMatchObject(error(503, 'VerificationTemporarilyUnavailable'))
  })
})

describe('a claim of a domain', () => {
  it('requires the role member or higher', async () => {
    await using t = await startRegistry()
    expect(await start(await t.app.viewer())).toMatchObject({ status: 403 })
    expect(await start(await t.app.withScopes(t.alice, ['read']))).toMatchObject({ status: 403 })
    expect(await start(t.app.anonymous)).toMatchObject({ status: 401 })
    expect(await start(await t.app.admin())).toMatchObject({ status: 200 })
  })

  it('is valid only for the user who started it', async () => {
    await using t = await startRegistry()
    const eve = await t.app.member()
    const [alices, eves] = [(await start(t.alice)).body, (await start(eve)).body]
    expect(eves.value).not.toBe(alices.value)
    t.dns.zone[host] = [[alices.value]]
    expect(await complete(eve)).toMatchObject(error(400, 'InvalidInput'))
    expect(await complete(await t.app.member())).toMatchObject(error(400, 'InvalidInput', expect.stringContaining('Start')))
    expect(await complete(t.alice)).toMatchObject({ status: 201 })
  })

  it('expires after exactly 24 hours and keeps its value when renewed', async () => {
    await using t = await startRegistry()
    const first = (await start(t.alice)).body
    t.dns.zone[host] = [[first.value]]
    t.app.clock.now = new Date('2026-01-01T23:00:00Z')
    expect((await start(t.alice, { ...claim, displayName: 'Acme Corp' })).body).toEqual({ ...first, expiresAt: '2026-01-02T23:00:00.000Z' })
    t.app.clock.now = new Date('2026-01-02T23:00:00Z')
    expect(await complete(t.alice)).toMatchObject(error(400, 'InvalidInput', expect.stringContaining('24 hours')))
    expect((await start(t.alice)).body.value).not.toBe(first.value)
    t.dns.zone[host] = [[(await start(t.alice, { ...claim, displayName: 'Last' })).body.value]]
    t.app.clock.now = new Date('2026-01-03T22:59:59.999Z')
    expect(await complete(t.alice)).toMatchObject({ status: 201, body: { displayName: 'Last' } })
  })

  it('is refused once the publisher exists', async () => {
    await using t = await startRegistry()
    const bob = await t.app.member()
    const [mine, theirs] = [(await start(t.alice)).body, (await start(bob)).body]
    t.dns.zone[host] = [[mine.value], [theirs.value]]
    const answers = await Promise.all([complete(t.alice), complete(bob)])
    expect(statuses(answers)).toEqual([201, 409])
    expect(await complete(t.alice)).toMatchObject(error(409, 'Conflict'))
    expect(await start(bob)).toMatchObject(error(409, 'Conflict', expect.stringContaining('acme.dev')))
  })

  it('is limited to thirty attempts in 15 minutes', async () => {
    await using t = await startRegistry()
    for (let round = 0; round < 30; round++) await start(t.alice, { ...claim, domain: `x${round}.dev` })
    expect(await complete(t.alice, 'x1.dev')).toMatchObject(error(429, 'RateLimitExceeded'))
    expect(t.dns.questions).toEqual([])
  })
})

it.each([
  'acme',
  '',
  '.',
  '.dev',
  'acme..dev',
  '-acme.dev',
  'acme-.dev',
  'ac_me.dev',
  '*.acme.dev',
  'acme.dev:53',
  'https://acme.dev',
  'acme.dev/x',
  'user@acme.dev',
  'acme.dev\0',
  'acme.dev\nx',
  'acme.dev..',
  '127.0.0.1',
  '1.2',
  '[::1]',
  'acme.localhost',
  'printer.local',
  '1.0.0.127.in-addr.arpa',
  'acme.onion',
  'xn--mnchen-3ya.de',
  'www.xn--p1ai',
  'm\u00fcnchen.de',
  '\u0430cme.dev',
  'acme\u3002dev',
  'acme.dev\u200b',
  `${'x'.repeat(61)}.dev`,
  `${'x.'.repeat(200)}dev`,
])('refuses %j as a domain without a DNS query', async (domain) => {
  await using t = await startRegistry()
  expect(await start(t.alice, { ...claim, domain })).toMatchObject(error(400, 'InvalidInput', expect.stringMatching(/^domain: /)))
  expect(await complete(t.alice, domain)).toMatchObject(error(400, 'InvalidInput', expect.stringMatching(/^domain: /)))
  expect(t.dns.questions).toEqual([])
})
