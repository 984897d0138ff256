import { createHmac } from 'node:crypto'
import { exportJWK, exportSPKI, generateKeyPair, importJWK, SignJWT, UnsecuredJWT } from 'jose'
import { expect, it } from 'vitest'
import type { Actor } from '../actor.ts'
import { publish } from '../support/publish.ts'
import { acmeRule, githubClaims } from '../support/token-issuer.ts'
import { trustedApp } from '../support/trusted-app.ts'

const listing = '/api/packages/acme_ui'

/** Starts a server on which jobs of acme/acme_ui can read packages. */
async function readable(options: Parameters<typeof trustedApp>[0] = {}) {
  const all = await trustedApp(options)
  await publish(all.member, { name: 'acme_ui', version: '0.9.0' })
  await all.addRule(acmeRule)
  return all
}

it('accepts every common signature with a public key', async () => {
  await using all = await readable()
  const { app, issuer, job, admin, tokenIssuerId } = all
  for (const algorithm of ['RS256', 'RS512', 'PS256', 'ES256', 'ES384', 'ES512', 'EdDSA']) {
    await issuer.addKey(algorithm)
    await admin.post(`/api/token-issuers/${tokenIssuerId}/refresh`, {})
    expect([algorithm, (await (await job()).get(listing)).status]).toEqual([algorithm, 200])
  }
  expect(app.lines.filter((line) => line.includes('could not be fetched'))).toEqual([])
})

it('refuses tokens with another or no signature', async () => {
  await using all = await readable()
  const { app, issuer } = all
  const good = await issuer.token(app, githubClaims)
  const [header = '', payload = '', signature = ''] = good.split('.')
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>
  const [key] = issuer.keys
  if (!key) throw new Error('no key')
  const publicPem = await exportSPKI((await importJWK(key.jwk)) as CryptoKey)
  const hmac = (secret: string | Buffer) => {
    const signed = `${encode({ alg: 'HS256', kid: key.kid })}.${payload}`
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
  }
  const stranger = await generateKeyPair('RS256')
  const own = await generateKeyPair('RS256', { extractable: true })
  const withOwnKey = new SignJWT(claims)
    .setProtectedHeader({
      alg: 'RS256',
      kid: 'x',
      jwk: await exportJWK(own.publicKey),
      jku: issuer.url('evil'),
      x5u: issuer.url('evil'),
      x5c: ['MIIB'],
    })
    .sign(own.privateKey)
  const notAllowed = /^The token is not signed with one of RS256,/
  const invalid = 'The signature of the token is invalid.'
  const tokens: [name: string, token: string, sentence: string | RegExp][] = [
    ['alg none', new UnsecuredJWT(claims).encode(), notAllowed],
    ['alg none with the signature', `${encode({ alg: 'none' })}.${payload}.${signature}`, notAllowed],
    ['HMAC with the public key as PEM', hmac(publicPem), notAllowed],
    ['HMAC with the modulus', hmac(Buffer.from(key.jwk.n ?? '', 'base64url')), notAllowed],
    [
      'another key with the same kid',
      await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: key.kid }).sign(stranger.privateKey),
      invalid,
    ],
    ['the key in its header', await withOwnKey, 'The token is signed with a key that its issuer does not publish.'],
    ['changed claims', `${header}.${encode({ ...claims, repository: 'evil/x' })}.${signature}`, invalid],
    ['changed signature', `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`, invalid],
    ['no signature', `${header}.${payload}.`, invalid],
    ['three dots', `${good}.x`, invalid],
    ['another algorithm of the same key', `${encode({ alg: 'ES256', kid: key.kid })}.${payload}.${signature}`, /does not publish/],
    ['critical header', `${encode({ alg: 'RS256', kid: key.kid, crit: ['b64'], b64: false })}.${payload}.${signature}`, invalid],
    ['no JSON', 'eyJhbGciOiJub25lIn0.e30x.x', 'This server accepts no tokens of this form.'],
    ['no claims', 'eyJ', 'This server accepts no tokens of this form.'],
  ]
  for (const [name, token, sentence] of tokens) {
    const { status, body, headers } = await app.withToken(token).get(listing)
    expect([name, status, body.error.code]).toEqual([name, 401, 'MissingAuthentication'])
    expect(body.error.message, name).toMatch(sentence instanceof RegExp ? sentence : new RegExp(`^${sentence.replaceAll('.', '\\.')}$`))
    expect(headers['www-authenticate']).toBe(`Bearer realm="pub", message="${body.error.message}"`)
  }
  expect((await app.withToken(good).get(listing)).status).toBe(200)
})

it('requires this server as the only audience, and times that are valid now', async () => {
  await using all = await readable()
  const { app, job } = all
  const server = app.config.SERVER_URL
  app.clock.now = new Date('2026-05-05T12:00:00Z')
  const seconds = app.clock.now.getTime() / 1000
  const forServer = `Request one for the audience ${server} only.`
  const cases: [name: string, claims: object, sentence: string][] = [
    ['another audience', { aud: 'https://other.example.com' }, `The token is for https://other.example.com. ${forServer}`],
    ['no audience', { aud: undefined }, `The token is for nothing. ${forServer}`],
    ['an empty list', { aud: [] }, `The token is for . ${forServer}`],
    [
      'two audiences',
      { aud: [server, 'https://other.example.com'] },
      `The token is for ${server} and https://other.example.com. ${forServer}`,
    ],
    ['a trailing slash', { aud: `${server}/` }, `The token is for ${server}/. ${forServer}`],
    ['a list of one', { aud: [server] }, ''],
    ['expired', { iat: seconds - 400, exp: seconds - 61 }, 'The token expired at 2026-05-05T11:58:59.000Z. Request a new one in the job.'],
    ['just expired', { iat: seconds - 400, exp: seconds - 59 }, ''],
    ['not yet valid', { nbf: seconds + 61 }, 'The token is valid from 2026-05-05T12:01:01.000Z only. Check the clocks.'],
    ['almost valid', { nbf: seconds + 59, iat: seconds + 59 }, ''],
    [
      'issued in the future',
      { iat: seconds + 61, exp: seconds + 300 },
      'The token is valid from 2026-05-05T12:01:01.000Z only. Check the clocks.',
    ],
    ['more than a day', { exp: seconds + 86_401 }, 'The token is valid for more than 24 hours.'],
    ['a day', { exp: seconds + 86_400 }, ''],
    ['no subject', { sub: undefined }, 'The token does not name its subject (sub).'],
    ['an empty subject', { sub: '' }, 'The token does not name its subject (sub).'],
    ['no expiry', { exp: undefined }, 'The token does not state when it was issued and when it expires (iat and exp).'],
    ['no time of issue', { iat: undefined }, 'The token does not state when it was issued and when it expires (iat and exp).'],
    ['an endless expiry', { exp: 1e300 }, 'The token does not state when it was issued and when it expires (iat and exp).'],
  ]
  for (const [name, claims, sentence] of cases) {
    const { status, body } = await (await job(claims)).get(listing)
    expect([name, status, body.error?.message ?? '']).toEqual([name, sentence === '' ? 200 : 401, sentence])
  }
})

it('refuses a token if its issuer publishes two keys with the same name', async () => {
  await using all = await readable()
  const { issuer, job, admin, tokenIssuerId } = all
  const [first, second] = [await issuer.addKey(), await issuer.addKey()]
  second.jwk.kid = second.kid = first.kid
  await admin.post(`/api/token-issuers/${tokenIssuerId}/refresh`, {})
  for (const key of [first, second]) {
    const { status, body } = await (await job({}, { key })).get(listing)
    expect([status, body.error.message]).toEqual([
      401,
      `The issuer publishes several keys with the name ${first.kid}, which the token is signed with.`,
    ])
  }
})

it('does not accept a verified token after it expired', async () => {
  await using all = await readable()
  const { app, job } = all
  const now = (app.clock.now = new Date('2026-05-05T12:00:00Z'))
  const actor = await job()
  expect((await actor.get(listing)).status).toBe(200)
  app.clock.now = new Date(now.getTime() + 359_000)
  expect((await actor.get(listing)).status).toBe(200)
  app.clock.now = new Date(now.getTime() + 361_000)
  const { status, body } = await actor.get(listing)
  expect([status, body.error.message]).toEqual([401, 'The token expired at 2026-05-05T12:05:00.000Z. Request a new one in the job.'])
})

it('finds a verified token with one keyed read', async () => {
  // Each instance caches listings of its own.
  await using all = await readable({ alone: true })
  const { app, job, member } = all
  const actor = await job()
  await actor.get(listing)
  const [own, token] = [await app.countQueries(() => actor.get(listing)), await app.countQueries(() => member.get(listing))]
  expect(own).toBe(token)
})

it('allows jobs nothing but reading and publishing, and ignores an invalid token where any credential is accepted', async () => {
  await using all = await readable()
  const { app, job } = all
  const [good, bad] = [await job(), await job({ aud: 'https://other.example.com' })]
  expect((await bad.get('/api/v1/health')).status).toBe(200)
  for (const [method, path] of [
    ['GET', '/api/auth/me'],
    ['GET', '/api/auth/keys'],
    ['POST', '/api/auth/keys'],
    ['GET', '/api/admin/users'],
    ['PUT', '/api/packages/acme_ui/options'],
    ['PUT', '/api/packages/acme_ui/versions/0.9.0/options'],
    ['POST', '/api/packages/acme_ui/trusted-publishers'],
    ['GET', '/api/token-issuers'],
  ] as const)
    expect([path, (await good.send(method, path, method === 'GET' ? undefined : {})).status]).toEqual([path, 403])
  const { body } = await good.graphql('{ me { email } }')
  expect(body.errors[0].extensions.code).toBe('InsufficientPermissions')
  expect(app.lines.join('\n')).not.toContain(good.secret)
})

it('limits failed verifications per address, and no job that is already known', async () => {
  await using all = await trustedApp()
  const { app, member, addRule, job } = all
  await publish(member, { name: 'acme_ui', version: '0.9.0' })
  await addRule(acmeRule)
  const [known, next] = [await job(), await job()]
  const [ip, elsewhere] = [app.address(), app.address()]
  const read = async (actor: Actor, from = ip) => (await actor.get('/api/packages/acme_ui', { ip: from })).status
  expect(await read(known)).toBe(200)
  const strangers = [await job({ repository: 'evil/acme_ui' }), app.withToken('eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL3gifQ.AAAA')]
  expect([await read(strangers[0] as Actor), await read(strangers[1] as Actor)]).toEqual([403, 401])
  for (let sent = 2; sent < 300; sent++) expect([401, 403]).toContain(await read(strangers[sent % 2] as Actor))
  for (const actor of [...strangers, next]) expect(await read(actor)).toBe(429)
  expect([await read(known), await read(next, elsewhere), await read(next)]).toEqual([200, 200, 200])
})

it('refuses tokens with texts that the database cannot store, signed or not', async () => {
  await using all = await readable()
  const { app, job } = all
  const sentence = 'The claims of the token contain U+0000 or an unpaired surrogate.'
  const encode = (text: string) => Buffer.from(text).toString('base64url')
  const unsigned = [String.raw`{"iss":"a\u0000b"}`, String.raw`{"iss":"https://\ud800.example"}`]
  const actors = unsigned.map((claims) => app.withToken(`${encode('{"alg":"RS256"}')}.${encode(claims)}.x`))
  for (const text of ['acme/\0x', 'acme/\ud800x']) {
    for (const claim of ['repository', 'repository_id', 'repository_owner_id', 'ref', 'actor']) actors.push(await job({ [claim]: text }))
    actors.push(await job({ [text]: 1 }), await job({ deep: [{ deeper: [[text]] }] }), await job({ deep: { [text]: null } }))
  }
  for (const actor of actors)
    for (const path of [listing, '/api/packages/versions/new', '/feed.atom']) {
      const { status, body } = await actor.get(path)
      expect([status, body.error?.message]).toEqual([401, sentence])
    }
  const owner = await (await job({ repository_owner_id: '9'.repeat(300), repository: 'acme/acme_ui' })).get(listing)
  expect([owner.status, owner.body.error.message]).toEqual([403, 'The id of the repository or its owner is longer than 255 characters.'])
  const deep = await job({ deep: JSON.parse(`${'['.repeat(500)}"\\u0000"${']'.repeat(500)}`) as unknown })
  expect((await deep.get(listing)).body.error?.message).toBe(sentence)
  const long = await job({ ref: `refs/tags/${'\u{1f600}'.repeat(400)}`, actor: '\u{1f600}'.repeat(400) })
  expect((await long.get(listing)).status).toBe(200)
  expect(app.lines.filter((line) => line.includes(' ERROR '))).toEqual([])
})
