import { exportJWK, generateKeyPair } from 'jose'
import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { publish } from '../support/publish.ts'
import { acmeRule, githubClaims } from '../support/token-issuer.ts'
import { trustedApp } from '../support/trusted-app.ts'
import { testApp } from '../app.ts'

const listing = '/api/packages/acme_ui'
const minuteMs = 60_000

async function readable() {
  const all = await trustedApp()
  await publish(all.member, { name: 'acme_ui', version: '0.9.0' })
  await all.addRule(acmeRule)
  all.app.clock.now = new Date(all.app.services.now().getTime() + 10 * minuteMs)
  return all
}

/** Moves the clock of the server forward. */
const wait = ({ app }: Awaited<ReturnType<typeof readable>>, ms: number) => {
  app.clock.now = new Date(app.services.now().getTime() + ms)
}

const json = (value: unknown) => (response: ServerResponse) => response.end(JSON.stringify(value))

it('fetches new keys once for 20 jobs at once, and at most once a minute for unknown ones', async () => {
  await using all = await readable()
  const { issuer, job } = all
  expect(issuer.fetches).toBe(1)
  await issuer.addKey()
  const jobs = await Promise.all(Array.from({ length: 20 }, () => job()))
  const answers = await Promise.all(jobs.map((actor) => actor.get(listing)))
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
  expect(issuer.fetches).toBe(2)

  const stranger = await generateKeyPair('RS256', { extractable: true })
  const unknown = { kid: 'unknown', sign: stranger.privateKey, jwk: { ...(await exportJWK(stranger.publicKey)), alg: 'RS256' } }
  for (let index = 0; index < 5; index++) {
    const { status, body } = await (await job({}, { key: unknown })).get(listing)
    expect([status, body.error.message]).toEqual([401, 'The token is signed with a key that its issuer does not publish.'])
  }
  expect(issuer.fetches).toBe(2)
  wait(all, minuteMs)
  expect((await (await job({}, { key: unknown })).get(listing)).status).toBe(401)
  expect(issuer.fetches).toBe(3)
})

it('queries the database for one of the jobs that wait for new keys', async () => {
  await using all = await readable()
  const { app, issuer, job } = all
  await issuer.addKey()
  const waiting: ServerResponse[] = []
  issuer.answerKeys = (response) => void waiting.push(response)
  const first = (await job()).get(listing)
  await expect.poll(() => waiting.length).toBe(1)
  const jobs = await Promise.all(Array.from({ length: 20 }, () => job()))
  const rest = jobs.map((actor) => actor.get(listing))
  const polls = () => app.queries.filter((sql) => /select .*key_problem.* from .?token_issuers/.test(sql)).length
  await expect.poll(polls).toBeGreaterThan(10)
  const before = [polls(), app.queries.length] as const
  await expect.poll(polls).toBeGreaterThanOrEqual(before[0] + 10)
  // A request that waits for itself would query once for each of these.
  expect(app.queries.length - before[1]).toBeLessThan(60)
  issuer.answerKeys = null
  waiting[0]?.end(JSON.stringify({ keys: issuer.keys.map(({ jwk }) => jwk) }))
  const answers = await Promise.all([first, ...rest])
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 21 }, () => 200))
})

it('uses the keys for a day while the issuer does not answer, and no key that the issuer removed', async () => {
  await using all = await readable()
  const { app, admin, issuer, job } = all
  issuer.answerKeys = (response) => void response.writeHead(503).end()
  wait(all, 2 * 60 * minuteMs)
  expect((await (await job()).get(listing)).status).toBe(200)
  const { body } = await admin.get('/api/token-issuers')
  expect(body.tokenIssuers[0]).toMatchObject({ keyProblem: expect.stringContaining('503') })
  wait(all, 22 * 60 * minuteMs)
  const { status, body: away, headers } = await (await job()).get(listing)
  expect([status, headers['retry-after']]).toEqual([503, '60'])
  expect(away.error.message).toMatch(/^The keys of the issuer http:\S+ could not be fetched since \d{4}-/)

  issuer.answerKeys = null
  wait(all, minuteMs)
  expect((await (await job()).get(listing)).status).toBe(200)
  expect((await admin.get('/api/token-issuers')).body.tokenIssuers[0]).toMatchObject({ keyProblem: null })
  const [old] = issuer.keys
  issuer.keys.length = 0
  await issuer.addKey()
  wait(all, 61 * minuteMs)
  expect((await (await job()).get(listing)).status).toBe(200)
  expect((await (await job({}, old && { key: old })).get(listing)).status).toBe(401)
  expect(app.lines.some((line) => line.includes('could not be fetched'))).toBe(true)
})

it('reads 1,000 keys', async () => {
  await using all = await readable()
  const { admin, issuer, job, tokenIssuerId } = all
  const [{ jwk } = { jwk: {} }] = issuer.keys
  const keys = Array.from({ length: 999 }, (_, index) => ({ ...jwk, kid: `other-${index}` }))
  issuer.answerKeys = json({ keys: [...keys, jwk] })
  const { body } = await admin.post(`/api/token-issuers/${tokenIssuerId}/refresh`, {})
  expect(body.keyProblem).toBeNull()
  expect((await (await job()).get(listing)).status).toBe(200)
})

it('requires a token to name its key if there are several', async () => {
  await using all = await readable()
  const { admin, issuer, job, tokenIssuerId } = all
  await issuer.addKey()
  await admin.post(`/api/token-issuers/${tokenIssuerId}/refresh`, {})
  const [key] = issuer.keys
  if (!key) throw new Error('no key')
  const { body } = await (await job({}, { key: { ...key, kid: undefined as unknown as string } })).get(listing)
  expect(body.error.message).toBe('The token does not name the key that it is signed with (kid).')
})

it('refuses documents that are too large, endless, encoded, or not about the issuer, and keeps the present keys', async () => {
  await using all = await readable()
  const { admin, issuer, job, tokenIssuerId } = all
  const endless = (response: ServerResponse) => {
    const more = () => void (response.destroyed || response.write(' '.repeat(65_536), more))
    more()
  }
  const redirect = (location: string) => (response: ServerResponse) => void response.writeHead(302, { location }).end()
  const problems: [name: string, answer: (response: ServerResponse) => void, part: 'answerKeys' | 'answerDiscovery', problem: RegExp][] = [
    ['10 MB', (response) => response.end(`{"keys":[],"x":"${'x'.repeat(10 * 1024 ** 2)}"}`), 'answerKeys', /more than 1048576 bytes/],
    ['endless', endless, 'answerKeys', /more than 1048576 bytes/],
    ['not JSON', (response) => response.end('<html>'), 'answerKeys', /is not JSON/],
    ['no key set', json({ keys: 'x' }), 'answerKeys', /is not a JSON Web Key Set/],
    ['a missing document', (response) => void response.writeHead(404).end(), 'answerDiscovery', /status 404/],
    [
      'another issuer',
      json({ issuer: 'https://evil.example.com', jwks_uri: `${issuer.url()}/jwks` }),
      'answerDiscovery',
      /names the issuer https:\/\/evil/,
    ],
    [
      'a private address',
      redirect('https://127.0.0.2/jwks'),
      'answerKeys',
      /127\.0\.0\.2, port 443, which may not be contacted: an operator can add the host to TOKEN_ISSUER_HOSTS/,
    ],
    ['the metadata service', redirect('http://169.254.169.254/latest'), 'answerKeys', /which is not allowed/],
    [
      'keys at a private address',
      json({ issuer: issuer.url(), jwks_uri: 'https://10.0.0.1/jwks' }),
      'answerDiscovery',
      /10\.0\.0\.1, port 443, which may not be contacted/,
    ],
    [
      'keys without https',
      json({ issuer: issuer.url(), jwks_uri: 'http://keys.example.com/jwks' }),
      'answerDiscovery',
      /is not https, which is not allowed/,
    ],
    ['a file', json({ issuer: issuer.url(), jwks_uri: 'file:///etc/passwd' }), 'answerDiscovery', /has no issuer and jwks_uri/],
    ['redirects without end', redirect(`${issuer.url()}/jwks`), 'answerKeys', /more than 3 redirects/],
  ]
  for (const [name, answer, part, problem] of problems) {
    issuer[part] = answer
    const { status, body } = await admin.post(`/api/token-issuers/${tokenIssuerId}/refresh`, {})
    expect([name, status]).toEqual([name, 200])
    expect(body.keyProblem, name).toMatch(problem)
    issuer[part] = null
    const added = await admin.post('/api/token-issuers', { name: 'Other', issuerUrl: issuer.url(`new-${name.length}`), preset: 'CUSTOM' })
    expect([name, added.status]).toEqual([name, 201])
    await admin.delete(`/api/token-issuers/${added.body.id}`)
  }
  expect((await (await job()).get(listing)).status).toBe(200)
})

it('gives up on an answer that never comes', async () => {
  await using all = await readable()
  const { admin, issuer, tokenIssuerId } = all
  issuer.answerKeys = () => {}
  const { body } = await admin.post(`/api/token-issuers/${tokenIssuerId}/refresh`, {})
  expect(body.keyProblem).toBe(`${issuer.url()}/jwks did not answer within 10 seconds`)
})

it('adds no issuer whose keys cannot be fetched, and none in this network unless an operator named it', async () => {
  await using all = await readable()
  const { admin, issuer } = all
  const add = (issuerUrl: string, preset = 'GITHUB') => admin.post('/api/token-issuers', { name: 'CI', issuerUrl, preset })
  issuer.answerKeys = (response) => void response.writeHead(500).end()
  const failed = await add(issuer.url('away'))
  expect([failed.status, failed.body.error.message]).toEqual([
    400,
    `issuerUrl: the keys of ${issuer.url('away')} could not be fetched: ${issuer.url('away')}/jwks answers with the status 500`,
  ])
  issuer.answerKeys = null
  expect(await add(issuer.url())).toMatchObject({ status: 409, body: { error: { message: `The issuer ${issuer.url()} already exists.` } } })
  for (const url of [
    'ftp://ci.example.com',
    'https://ci.example.com/',
    'https://user:x@ci.example.com',
    'https://ci.example.com?x',
    'https://',
    'nothing',
    '',
  ])
    expect([url, (await add(url)).status]).toEqual([url, 400])
  await using other = await testApp()
  const answer = await (await other.admin()).post('/api/token-issuers', { name: 'CI', issuerUrl: issuer.url(), preset: 'GITHUB' })
  expect(answer.body.error.message).toContain('is not https, which is not allowed: an operator can add the host to TOKEN_ISSUER_HOSTS')
  const token = await issuer.token(other, githubClaims)
  expect((await other.withToken(token).get('/api/packages/acme_ui')).body.error.message).toContain('accepts no tokens of the issuer')
})

it('stores the problem of a document with U+0000 or unpaired surrogates', async () => {
  await using all = await readable()
  const { admin, issuer, job, tokenIssuerId } = all
  const refresh = async () => (await admin.post(`/api/token-issuers/${tokenIssuerId}/refresh`, {})).body as { keyProblem: string }
  issuer.answerDiscovery = json({ issuer: `${issuer.url()}\0`, jwks_uri: 'https://example.com' })
  expect((await refresh()).keyProblem).toBe(`its discovery document names the issuer ${issuer.url()} `)
  wait(all, 2 * 60 * minuteMs)
  expect((await (await job()).get(listing)).status).toBe(200)
  issuer.answerDiscovery = (response) => response.end(String.raw`{"issuer": "x\ud800", "jwks_uri": "https://example.com"}`)
  expect((await refresh()).keyProblem).toBe('its discovery document names the issuer x\ufffd')
})
