import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { isObjectType } from 'graphql'
import { expect, it } from 'vitest'
import { schema } from '../../server/schema.ts'
import { testApp } from '../app.ts'
import { publish } from '../support/publish.ts'

const acceptEncoding = (encodings: string, more = {}) => ({ headers: { 'accept-encoding': encodings, ...more } })
const unpack = { br: brotliDecompressSync, gzip: gunzipSync }

/** Accept-Encoding headers by the expected encoding. */
const choices = {
  br: ['br', 'gzip, deflate, br, zstd', '*', 'gzip;q=0, *;q=0.1'],
  gzip: ['gzip', 'GZIP', 'gzip, br;q=0', 'gzip, br;q=0.5', 'zstd, gzip;q=0.1', 'br;q=0, *'],
  identity: ['', 'identity', 'gzip;q=0', 'gzip;q=0, br;q=0.0', '*;q=0', 'deflate', 'identity, gzip;q=0.5'],
}

it('compresses JSON of REST and GraphQL from 1 KB with the encoding the client prefers', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const query = '{ __schema { types { name description } } }'
  const requests = [
    (encodings: string) => alice.get('/api/docs/openapi.json', acceptEncoding(encodings)),
    (encodings: string) => alice.graphql(query, {}, acceptEncoding(encodings)),
    (encodings: string) => alice.get(`/graphql?query=${encodeURIComponent(query)}`, acceptEncoding(encodings)),
  ]
  for (const request of requests) {
    const { raw: text } = await request('identity')
    for (const coding of ['br', 'gzip'] as const)
      for (const accepted of choices[coding]) {
        const { headers, raw } = await request(accepted)
        expect({ accepted, ...headers }).toMatchObject({ 'content-encoding': coding, 'content-length': String(raw.length) })
        expect(headers.vary).toContain('accept-encoding')
        expect(raw.length).toBeLessThan(text.length / 2)
        expect(unpack[coding](raw).equals(text)).toBe(true)
      }
    for (const accepted of choices.identity) {
      const { headers, raw } = await request(accepted)
      expect({ accepted, ...headers }).not.toHaveProperty('content-encoding')
      expect(headers.vary).toContain('accept-encoding')
      expect(raw.equals(text)).toBe(true)
    }
  }
  expect((await alice.get('/api/auth/me', acceptEncoding('gzip'))).headers).not.toHaveProperty('content-encoding')
})

it('sends the headers of GET for HEAD and compresses version details but not archives', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0', pubspec: `homepage: https://example.com/${'long/'.repeat(300)}` })
  for (const path of ['/api/packages/acme/versions/1.0.0', '/api/search?q=acme']) {
    const got = await alice.get(path, acceptEncoding('gzip'))
    const head = await alice.head(path, acceptEncoding('gzip'))
    for (const name of ['content-encoding', 'content-length', 'content-type', 'vary']) expect(head.headers[name]).toBe(got.headers[name])
    expect(head.raw.length).toBe(0)
  }
  expect((await alice.get('/api/packages/acme/versions/1.0.0', acceptEncoding('gzip'))).headers['content-encoding']).toBe('gzip')
  expect((await alice.get('/api/archives/acme-1.0.0.tar.gz', acceptEncoding('gzip, br'))).headers).not.toHaveProperty('content-encoding')
})

it('never compresses an answer that contains a new secret', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const names = Array.from({ length: 20 }, (_, index) => `name${index}: name`).join(' ')
  const make = (secret: string) =>
    alice.graphql(
      `mutation ($name: String!) { createToken(input: { name: $name }) { ${secret} token { ${names} } } }`,
      { name: 'ci '.repeat(30).trim() },
      acceptEncoding('gzip, br'),
    )
  const { headers, body } = await make('secret')
  expect(headers).not.toHaveProperty('content-encoding')
  expect(body.data.createToken.secret).toMatch(/^svc_pat_/)
  expect((await make('')).headers['content-encoding']).toBe('br')
})

it('marks every field that returns a secret', () => {
  const fields = Object.values(schema.getTypeMap()).flatMap((type) =>
    isObjectType(type)
      ? Object.values(type.getFields()).map(({ name, type: given, extensions }) => ({
          name,
          extensions,
          given: String(given),
          place: `${type.name}.${name}`,
        }))
      : [],
  )
  const secret = fields.filter(({ extensions }) => extensions.secret).map(({ place }) => place)
  expect(secret.toSorted()).toEqual([
    'AnswerAuthorizationPayload.redirectUrl',
    'ConfirmTotpPayload.recoveryCodes',
    'CreateInvitePayload.inviteUrl',
    'CreateServiceAccountTokenPayload.secret',
    'CreateTokenPayload.secret',
    'CreateUploadPayload.url',
    'CreateUserPayload.generatedPassword',
    'CreateUserPayload.inviteUrl',
    'DeviceAuthorization.userCode',
    'LogoutPayload.endSessionUrl',
    'ProviderRedirectPayload.redirectUrl',
    'RecoveryCodesPayload.recoveryCodes',
    'ResetPasswordPayload.generatedPassword',
    'RotateServiceAccountTokenPayload.secret',
    'RotateTokenPayload.secret',
    'StartTotpPayload.qrCode',
    'StartTotpPayload.secret',
    'StartTotpPayload.uri',
    'TestOidcProviderPayload.redirectUrl',
    'VerifySetupCodePayload.setupToken',
  ])
  const telling = fields.filter(
    ({ name, given }) =>
      /secret|password|token|code|inviteUrl/i.test(name) &&
      !['tokenCommand', 'deletedTokenIssuerId'].includes(name) &&
      /^(String|URL|ID)!?$/.test(given),
  )
  expect(telling.map(({ place }) => place).filter((place) => !secret.includes(place))).toEqual([])
})

it('sends scripts and styles precompressed by the build, with permanent caching', async () => {
  await using app = await testApp()
  const folder = join(import.meta.dirname, '../../web/dist/assets')
  const files = readdirSync(folder).filter((name) => /^(index-.*\.js|style-.*\.css)$/.test(name))
  expect(files).toHaveLength(2)
  for (const file of files) {
    const [path, text] = [`/assets/${file}`, readFileSync(join(folder, file))]
    for (const [coding, ending] of [
      ['br', '.br'],
      ['gzip', '.gz'],
    ] as const)
      for (const accepted of choices[coding].filter((one) => !one.includes('*'))) {
        const { headers, raw } = await app.anonymous.get(path, acceptEncoding(accepted))
        expect({ accepted, ...headers }).toMatchObject({
          'content-encoding': coding,
          'content-length': String(readFileSync(join(folder, file + ending)).length),
          'content-type': expect.stringMatching(/^(application\/javascript|text\/css); charset=utf-8$/),
          'cache-control': 'public, max-age=31536000, immutable',
          vary: 'accept-encoding',
          etag: expect.any(String),
        })
        expect(unpack[coding](raw).equals(text)).toBe(true)
      }
    for (const accepted of choices.identity.filter((one) => !one.startsWith('identity,'))) {
      const { headers, raw } = await app.anonymous.get(path, acceptEncoding(accepted))
      expect({ accepted, ...headers }).not.toHaveProperty('content-encoding')
      expect(headers.vary).toBe('accept-encoding')
      expect(raw.equals(text)).toBe(true)
    }
  }
})

it('serves only scripts and styles below /assets', async () => {
  await using app = await testApp()
  const [script = ''] = readdirSync(join(import.meta.dirname, '../../web/dist/assets')).filter((name) => /^index-.*\.js$/.test(name))
  expect(await app.anonymous.get(`/assets/${script}`)).toMatchObject({ status: 200 })
  expect(await app.anonymous.head(`/assets/${script}`)).toMatchObject({ status: 200, raw: Buffer.alloc(0) })
  const elsewhere = ['', 'none.js', `a/${script}`, `${script}/`, `${script}%2f`, `${script}%00`]
  const above = [
    '%2e%2e/index.html',
    '..%2findex.html',
    'a/%2e%2e%2f%2e%2e/index.html',
    '%2f..%2findex.html',
    '%252e%252e/index.html',
    '..%5cindex.html',
  ]
  for (const path of [...elsewhere, ...above])
    for (const accepted of ['identity', 'br, gzip'])
      expect([400, 403, 404], path).toContain((await app.anonymous.get(`/assets/${path}`, acceptEncoding(accepted))).status)
})

it('supports revalidation, ranges and HEAD for compressed files', async () => {
  await using app = await testApp()
  const files = readdirSync(join(import.meta.dirname, '../../web/dist/assets')).filter((name) =>
    /^(index-.*\.js|style-.*\.css)$/.test(name),
  )
  expect(files).toHaveLength(2)
  for (const path of files.map((name) => `/assets/${name}`)) {
    const { headers, raw } = await app.anonymous.get(path, acceptEncoding('gzip'))
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
    const plain = await app.anonymous.get(path)
    expect(plain.headers.etag).not.toBe(headers.etag)
    expect(gunzipSync(raw).equals(plain.raw)).toBe(true)
    const head = await app.anonymous.head(path, acceptEncoding('gzip'))
    expect(head).toMatchObject({ status: 200, headers: { 'content-encoding': 'gzip', 'content-length': headers['content-length'] } })
    expect(head.raw.length).toBe(0)
    const same = await app.anonymous.get(path, acceptEncoding('gzip', { 'if-none-match': headers.etag }))
    expect(same).toMatchObject({ status: 304, headers: { vary: 'accept-encoding' } })
    const part = await app.anonymous.get(path, acceptEncoding('gzip', { range: 'bytes=10-19' }))
    expect(part).toMatchObject({ status: 206, headers: { 'content-range': `bytes 10-19/${raw.length}`, 'content-encoding': 'gzip' } })
    expect(part.raw.equals(raw.subarray(10, 20))).toBe(true)
  }
})
