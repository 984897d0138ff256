import { describe, expect, it } from 'vitest'
import { testApp, type TestApp } from '../app.ts'

const account = { email: 'ada@example.com', displayName: 'Ada', password: 'a fine password' }
const env = { SIGNUP_ENABLED: 'true' }

/** A rate-limited endpoint: the number of allowed requests and the answer to a valid body. */
type Endpoint = { path: string; allowed: number; fitting: object; answer: number; setUp?: boolean }
const endpoints: Endpoint[] = [
  { path: '/api/auth/login', allowed: 10, fitting: { email: account.email, password: 'wrong' }, answer: 401 },
  { path: '/api/auth/signup', allowed: 10, fitting: account, answer: 202 },
  { path: '/api/invites/x/accept', allowed: 10, fitting: { password: account.password }, answer: 404 },
  { path: '/api/setup/verify', allowed: 5, fitting: { code: 'wrong' }, answer: 400, setUp: false },
  { path: '/api/setup/complete', allowed: 5, fitting: account, answer: 403, setUp: false },
]
/** Invalid bodies: a missing field, wrong types, not an object, refused by a field's rule, and not storable. */
const invalidBodies = [
  {},
  { email: 1, code: 1, password: 1 },
  [],
  { ...account, code: 'x'.repeat(65), email: 'x'.repeat(1025), password: 'a\u0000' },
]

const tooMany = {
  status: 429,
  headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
  body: { error: { code: 'RateLimitExceeded' } },
}

const codeOf = ({ extensions }: { extensions: { code: string } }) => extensions.code

/** Sends the bodies one after the other and returns the statuses. */
async function answersTo(app: TestApp, path: string, bodies: unknown[]): Promise<number[]> {
  const answers = []
  for (const body of bodies) answers.push((await app.anonymous.post(path, body)).status)
  return answers
}

describe.each(endpoints)('POST $path', ({ path, allowed, fitting, answer, setUp = true }) => {
  it('counts invalid requests like valid ones', async () => {
    await using app = await testApp({ setUp, env })
    const bodies = Array.from({ length: allowed }, (_, index) => invalidBodies[index % invalidBodies.length])
    expect(await answersTo(app, path, bodies)).toEqual(bodies.map(() => 400))
    for (const body of [...invalidBodies, fitting]) expect(await app.anonymous.post(path, body)).toMatchObject(tooMany)
    expect(await app.anonymous.post(path, {}, { ip: app.address() })).toMatchObject({ status: 400 })
  })

  it('counts every request once', async () => {
    await using app = await testApp({ setUp, env })
    const bodies = Array.from({ length: allowed }, (_, index) => (index % 2 ? fitting : {}))
    expect(await answersTo(app, path, bodies)).toEqual(bodies.map((body) => (body === fitting ? answer : 400)))
    for (const body of [{}, fitting]) expect(await app.anonymous.post(path, body)).toMatchObject(tooMany)
  })
})

it('counts lookups of invitations with malformed tokens', async () => {
  await using app = await testApp()
  const paths = Array.from({ length: 10 }, (_, index) => `/api/invites/${index % 2 ? '%00' : 'x'.repeat(201)}`)
  for (const path of paths) expect(await app.anonymous.get(path)).toMatchObject({ status: 400 })
  for (const path of [...paths.slice(0, 2), '/api/invites/x']) expect(await app.anonymous.get(path)).toMatchObject(tooMany)
})

it('counts each GraphQL field together with REST, whatever the arguments', async () => {
  await using app = await testApp()
  const long = 'x'.repeat(201)
  const fields = Array.from({ length: 9 }, (_, index) => `a${index}: invite(token: "${index % 2 ? '\\u0000' : long}") { email }`)
  const { body } = await app.anonymous.graphql(`{ ${fields.join(' ')} }`)
  expect(body.errors.map(codeOf)).toEqual(fields.map(() => 'InvalidInput'))
  expect(await app.anonymous.get(`/api/invites/${long}`)).toMatchObject({ status: 400 })
  expect(await app.anonymous.get(`/api/invites/${long}`)).toMatchObject(tooMany)
  const refused = await app.anonymous.graphql(`{ ${fields[0]} }`)
  expect(refused.body.errors.map(codeOf)).toEqual(['RateLimitExceeded'])
})

it('refuses disabled signup, completed setup and other origins before anything else, without counting', async () => {
  await using app = await testApp()
  await using fresh = await testApp({ setUp: false })
  const everything = [...invalidBodies, account, ...invalidBodies, account, {}]
  for (const body of everything) {
    expect(await app.anonymous.post('/api/auth/signup', body)).toMatchObject({ status: 403 })
    for (const path of ['/api/setup/verify', '/api/setup/complete'])
      expect(await app.anonymous.post(path, body)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
    const foreign = { headers: { origin: 'https://elsewhere.example' } }
    expect(await app.anonymous.post('/api/auth/login', body, foreign)).toMatchObject({ status: 403 })
    expect(await fresh.anonymous.post('/api/auth/login', body)).toMatchObject({ status: 403 })
  }
  expect(await app.anonymous.post('/api/auth/login', {})).toMatchObject({ status: 400 })
})
