import { createHmac } from 'node:crypto'
import { exportSPKI, type JWTPayload } from 'jose'
import { describe, expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { Browser, claimsFor, providerEnv, signedIn } from '../support/oidc.ts'
import { newKey, StubIssuer } from '../support/stub-issuer.ts'

const alice = { sub: 'alice-1', email: 'alice@acme.example', email_verified: true, name: 'Alice' }
const signUp = { OIDC_SIGNUP: 'domain', OIDC_SIGNUP_DOMAINS: 'acme.example' }
const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

async function server(env: Record<string, string> = {}) {
  const stub = await StubIssuer.start()
  return { stub, app: await testApp({ env: { ...providerEnv(stub), ...signUp, ...env } }) }
}

describe('an ID token', () => {
  const seconds = () => Math.floor(Date.now() / 1000)

  it.each<[string, (claims: JWTPayload, stub: StubIssuer) => Promise<string> | string]>([
    ['signed by another key', async (claims, stub) => stub.sign(claims, await newKey('first'))],
    ['signed by a key that is not published', async (claims, stub) => stub.sign(claims, await newKey('unknown'))],
    [
      'with a changed subject',
      async (claims, stub) => {
        const [head, , signature] = (await stub.sign(claims)).split('.')
        return `${head}.${base64({ ...claims, sub: 'mallory' })}.${signature}`
      },
    ],
    ['without a signature', (claims) => `${base64({ alg: 'none' })}.${base64(claims)}.`],
    ['with alg none in other letters', (claims) => `${base64({ alg: 'NoNe' })}.${base64(claims)}.`],
    [
      'signed by HMAC with the public key',
      async (claims, stub) => {
        const unsigned = `${base64({ alg: 'HS256', kid: 'first' })}.${base64(claims)}`
        const key = await exportSPKI(stub.keys[0]?.publicKey as CryptoKey)
        return `${unsigned}.${createHmac('sha256', key).update(unsigned).digest('base64url')}`
      },
    ],
    [
      'signed by HMAC with the client secret',
      (claims) => {
        const unsigned = `${base64({ alg: 'HS256' })}.${base64(claims)}`
        return `${unsigned}.${createHmac('sha256', 'the secret of this server at the provider').update(unsigned).digest('base64url')}`
      },
    ],
    ['that has expired', (claims, stub) => stub.sign({ ...claims, iat: seconds() - 900, exp: seconds() - 600 })],
    ['without an expiry', ({ exp: _exp, ...claims }, stub) => stub.sign(claims)],
    ['for another audience', (claims, stub) => stub.sign({ ...claims, aud: 'another client' })],
    ['for several audiences, authorized for another', (claims, stub) => stub.sign({ ...claims, aud: ['snug', 'other'], azp: 'other' })],
    ['of another issuer', (claims, stub) => stub.sign({ ...claims, iss: 'https://evil.example' })],
    ['with another nonce', (claims, stub) => stub.sign({ ...claims, nonce: 'another' })],
    ['without a nonce', ({ nonce: _nonce, ...claims }, stub) => stub.sign(claims)],
    ['without a subject', ({ sub: _sub, ...claims }, stub) => stub.sign(claims)],
    ['with a subject that is too long', (claims, stub) => stub.sign({ ...claims, sub: 'x'.repeat(256) })],
    ['with U+0000 in the subject', (claims, stub) => stub.sign({ ...claims, sub: 'a\0b' })],
    ['with an unpaired surrogate in the subject', (claims, stub) => stub.sign({ ...claims, sub: '\ud800' })],
    ['with U+0000 in the session', (claims, stub) => stub.sign({ ...claims, sid: '\0' })],
    ['with U+0000 in the e-mail address', (claims, stub) => stub.sign({ ...claims, email: 'a\0@acme.example' })],
    ['with U+0000 in a group', (claims, stub) => stub.sign({ ...claims, groups: [1, null, 'a\0'] })],
    ['that is not a JWT', () => 'not.a.token'],
  ])('%s is refused', async (_what, forge) => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    stub.behaviour.idToken = (claims) => forge(claims, stub)
    const browser = new Browser(app)
    expect(await browser.signIn(stub, alice)).toBe('/login?error=invalid_response&provider=acme')
    expect(await browser.viewer()).toBeNull()
    stub.behaviour.idToken = stub.sign
    expect(await browser.signIn(stub, alice)).toBe('/')
  })
})

describe('a callback', () => {
  it('is refused when it is repeated, has another state or none, or comes from another browser', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = new Browser(app)
    const expired = '/login?error=expired&provider=acme'
    const at = await browser.start()
    const state = at.searchParams.get('state') ?? ''
    const code = stub.code(claimsFor(stub, at, alice))
    expect(await browser.callback({ code, state: `${state}x` })).toBe(expired)
    expect(await browser.callback({ code })).toBe(expired)
    // The code of one browser in another one, with and without a round of its own.
    const victim = new Browser(app)
    expect(await victim.callback({ code, state })).toBe(expired)
    await victim.start()
    expect(await victim.callback({ code, state })).toBe(expired)
    expect(await victim.viewer()).toBeNull()
    expect(stub.exchanges).toHaveLength(0)
    expect(await browser.callback({ code, state })).toBe('/')
    expect(await browser.callback({ code, state })).toBe(expired)
    expect(stub.exchanges).toHaveLength(1)
  })

  it('works once when it is sent several times at once', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = new Browser(app)
    const at = await browser.start()
    const parameters = { code: stub.code(claimsFor(stub, at, alice)), state: at.searchParams.get('state') ?? '' }
    const ends = await Promise.all(Array.from({ length: 5 }, () => new Browser(app, browser.cookies).callback(parameters)))
    expect(ends.filter((end) => end === '/')).toHaveLength(1)
    expect(stub.exchanges).toHaveLength(1)
  })

  it('is refused after ten minutes, and with a failure of the provider it names the failure', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    app.clock.now = new Date()
    const browser = new Browser(app)
    const at = await browser.start()
    app.clock.now = new Date(app.clock.now.getTime() + 601_000)
    expect(await browser.finish(stub, at, alice)).toBe('/login?error=expired&provider=acme')
    const deny = async (error: string) => {
      const state = (await browser.start()).searchParams.get('state') ?? ''
      return browser.callback({ error, error_description: 'No.', state })
    }
    expect(await deny('access_denied')).toBe('/login?error=access_denied&provider=acme')
    expect(await deny('server_error')).toBe('/login?error=provider_failed&provider=acme')
  })

  it('binds the code to the round by PKCE, and requests what is configured', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = new Browser(app)
    const at = await browser.start()
    expect(Object.fromEntries(at.searchParams)).toMatchObject({
      client_id: 'snug',
      response_type: 'code',
      scope: 'openid email profile',
      code_challenge_method: 'S256',
      redirect_uri: 'http://localhost:8080/auth/oidc/acme/callback',
    })
    await browser.finish(stub, at, alice)
    const verifier = stub.exchanges[0]?.get('code_verifier') ?? ''
    const digest = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(verifier))).toString('base64url')
    expect(digest).toBe(at.searchParams.get('code_challenge'))
  })
})

describe('two providers', () => {
  it('cannot be mixed up', async () => {
    await using one = await StubIssuer.start()
    await using other = await StubIssuer.start()
    await using app = await testApp({ env: { ...providerEnv(one), ...providerEnv(other, 'OTHER_2'), ...signUp } })
    const browser = new Browser(app)
    const at = await browser.start()
    const state = at.searchParams.get('state') ?? ''
    // The callback of one provider for a round of the other one.
    const forOther = { code: other.code(claimsFor(other, at, alice)), state }
    expect(await browser.callback(forOther, 'other_2')).toBe('/login?error=expired&provider=other_2')
    // A malicious provider that relays the round of an honest one: RFC 9207.
    expect(await browser.callback({ ...forOther, iss: other.issuer })).toBe('/login?error=invalid_response&provider=acme')
    expect(one.exchanges).toHaveLength(0)
    // An ID token of the other provider.
    one.behaviour.idToken = (claims) => other.sign({ ...claims, iss: other.issuer })
    expect(await browser.signIn(one, alice)).toBe('/login?error=invalid_response&provider=acme')
  })

  it('requires iss where the provider announces it', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    stub.behaviour.metadata = { authorization_response_iss_parameter_supported: true }
    const browser = new Browser(app)
    expect(await browser.signIn(stub, alice)).toBe('/login?error=invalid_response&provider=acme')
    const at = await browser.start()
    const parameters = { code: stub.code(claimsFor(stub, at, alice)), state: at.searchParams.get('state') ?? '' }
    expect(await browser.callback({ ...parameters, iss: stub.issuer })).toBe('/')
  })

  it('keep people with the same subject apart', async () => {
    await using one = await StubIssuer.start()
    await using other = await StubIssuer.start()
    await using app = await testApp({ env: { ...providerEnv(one), ...providerEnv(other, 'OTHER'), ...signUp } })
    await new Browser(app).signIn(one, alice)
    const stranger = new Browser(app)
    const at = await stranger.start('/auth/oidc/other')
    expect(await stranger.finish(other, at, alice, 'other')).toBe('/login?error=not_linked&provider=other')
  })
})

describe('the page to return to', () => {
  it.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/./\\evil.example',
    'javascript:alert(1)',
    '/%0d%0aset-cookie: x',
    'packages',
    '',
  ])('is never on another site: %j', async (to) => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const browser = new Browser(app)
    const end = await browser.signIn(stub, alice, `/auth/oidc/acme?return_to=${encodeURIComponent(to)}`)
    expect(new URL(end, 'http://localhost:8080').origin).toBe('http://localhost:8080')
    expect(end).toBe('/')
    const link = await (await signedIn(app)).mutate('linkIdentity', { provider: 'acme', returnTo: to }, 'redirectUrl')
    expect(link.redirectUrl).toContain('/authorize?')
  })

  it('may be given twice without an error', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    expect(await new Browser(app).signIn(stub, alice, '/auth/oidc/acme?return_to=/a&return_to=//b')).toBe('/')
  })
})

describe('a provider', () => {
  it.each(['unknown', 'ACME', 'a%2Fb', '..', 'x'.repeat(100)])('named %s does not exist, which the login page reports', async (name) => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    const answer = await new Browser(app).get(`/auth/oidc/${name}`)
    if (name === '..') expect(answer.status).toBe(404)
    else expect(String(answer.headers.location)).toMatch(/\/login\?error=unknown_provider&provider=/)
  })

  it('may not send this server to a private address of another host', async () => {
    await using internal = await StubIssuer.start()
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    stub.behaviour.metadata = { token_endpoint: `${internal.issuer}/token` }
    const browser = new Browser(app)
    expect(await browser.signIn(stub, alice)).toBe('/login?error=provider_failed&provider=acme')
    stub.behaviour.metadata = { jwks_uri: `${internal.issuer}/jwks` }
    expect(await browser.signIn(stub, alice)).toBe('/login?error=provider_failed&provider=acme')
    expect(internal.exchanges).toHaveLength(0)
  })

  it('with metadata of another issuer is refused', async () => {
    const { stub, app } = await server()
    await using _app = app
    await using _stub = stub
    stub.behaviour.metadata = { issuer: 'https://evil.example' }
    expect(String((await new Browser(app).get('/auth/oidc/acme')).headers.location)).toContain('/login?error=provider_failed&provider=acme')
  })
})
