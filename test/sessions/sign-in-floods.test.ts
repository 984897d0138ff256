import { expect, it } from 'vitest'
import type { Answer } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { cookieNames } from '../support/cookies.ts'

const names = cookieNames()

type From = { ip?: string; device?: string | undefined }

const attempt = (app: TestApp, email: string, password: string, { ip = app.address(), device }: From = {}) =>
  app.anonymous.post('/api/auth/login', { email, password }, { ip, headers: device ? { cookie: `${names.device}=${device}` } : {} })
const failSignIn = (app: TestApp, email: string, from?: From) => attempt(app, email, 'wrong', from)
const signIn = (app: TestApp, email: string, from?: From) => attempt(app, email, 'correct horse', from)
const deviceOf = ({ cookies }: Answer) => cookies.find(({ name }) => name === names.device)?.value
const count = (answers: Answer[], status: number) => answers.filter((answer) => answer.status === status).length

it('accepts a sign-in during a flood from another address', async () => {
  await using app = await testApp({ env: { BCRYPT_COST: '9', SIGN_IN_LIMIT: '1000' } })
  const alice = await app.member()
  const flood = Array.from({ length: 100 }, () => failSignIn(app, 'unknown@example.com', { ip: '192.0.2.1' }))
  expect(await signIn(app, alice.email)).toMatchObject({ status: 200 })
  const refused = (await Promise.all(flood)).filter(({ status }) => status === 429)
  expect(refused.length).toBeGreaterThan(0)
  for (const { headers } of refused) expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
})

/** Sends 100 concurrent sign-ins and waits until one is refused, when the queue is full. Returns a promise of all answers. */
async function floodSignIns(app: TestApp, ipOf: (index: number) => string): Promise<{ answers: Promise<Answer[]> }> {
  const all = Array.from({ length: 100 }, (_, index) => failSignIn(app, `unknown${index}@example.com`, { ip: ipOf(index) }))
  await Promise.any(all.map(async (one) => expect(await one).toMatchObject({ status: 429 })))
  return { answers: Promise.all(all) }
}

it('accepts a sign-in during a flood from one IPv6 /48 with a new /64 per request', async () => {
  await using app = await testApp({ env: { BCRYPT_COST: '9' } })
  const alice = await app.member()
  const { answers } = await floodSignIns(app, (index) => `2001:db8:bad:${index.toString(16)}::1`)
  expect(await signIn(app, alice.email, { ip: '2001:db8:600d:1::1' })).toMatchObject({ status: 200 })
  expect(await signIn(app, alice.email)).toMatchObject({ status: 200 })
  const refused = (await answers).filter(({ status }) => status === 429)
  for (const { headers } of refused) expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
})

/** Rounds of a flood after which a client that keeps coming back must have given way. Each takes as long as the machine is busy. */
const maxRounds = 30

it('reserves queue slots for known devices, ranges and signed-in users while unknown clients fill the queue', async () => {
  await using app = await testApp({ env: { BCRYPT_COST: '9' } })
  const [alice, bob, carol] = [await app.member(), await app.member(), await app.member()]
  const device = deviceOf(await signIn(app, alice.email))
  await signIn(app, bob.email, { ip: '2001:db8:1:2::7' })
  const { answers } = await floodSignIns(app, (index) => (index % 2 ? `2001:db8:${(0x1000 + index).toString(16)}::1` : `198.18.${index}.1`))
  const change = { currentPassword: 'wrong', newPassword: 'a fine password' }
  const known = await Promise.all([
    signIn(app, alice.email, { device, ip: '2001:db8:1001:5::1' }),
    signIn(app, bob.email, { ip: '2001:db8:1:ffff::1' }),
    carol.post('/api/auth/change-password', change, { ip: app.address() }),
  ])
  expect(known.map(({ status }) => status)).toEqual([200, 200, 400])
  // A client that keeps coming back gives way to others. Neither a new address nor the device of another account gives it a reserved place.
  let serial = 0
  const late: Answer[] = []
  for (const from of [{}, { device }]) {
    const refused = async () => {
      const round = ++serial
      const others = Array.from({ length: 40 }, (_, i) =>
        failSignIn(app, `late${round}-${i}@example.com`, { ip: `${50 + i}.${round}.0.1` }),
      )
      const own = [1, 2, 3].map(() => failSignIn(app, carol.email, from))
      const { status } = await signIn(app, carol.email, from)
      late.push(...(await Promise.all(others)))
      await Promise.all(own)
      return status
    }
    let status = 0
    for (let rounds = 0; rounds < maxRounds && status !== 429; rounds++) status = await refused()
    expect(status).toBe(429)
  }
  expect(count([...(await answers), ...late], 401)).toBeGreaterThan(20)
})

const hex = (index: number) => index.toString(16)

/** Where the sign-ins of a flood come from, and the accounts that they try. */
const floods: Record<string, (index: number) => { ip: string; email: string }> = {
  '200 networks /24': (index) => ({ ip: `${11 + (index % 200)}.7.9.1`, email: `unknown${index}@example.com` }),
  '250 addresses of one /24': (index) => ({ ip: `198.51.100.${1 + (index % 250)}`, email: `unknown${index % 30}@example.com` }),
  'a new /64 of one /48 each time': (index) => ({ ip: `2001:db8:bad:${hex(index % 65_536)}::1`, email: `unknown${index}@example.com` }),
  'a new /48 each time': (index) => ({ ip: `2001:db8:${hex(index % 65_536)}::1`, email: `unknown${index}@example.com` }),
  'a new address each time, with one account': (index) => ({
    ip: `${1 + (index % 200)}.${(index >> 3) % 250}.9.1`,
    email: 'alice@example.com',
  }),
}

/** Only the queue in memory distinguishes the forms. They cause the same statements, so that PostgreSQL tries one of them. */
const forms = Object.entries(floods).filter((_, index) => process.env.TEST_DB !== 'postgres' || index === 0)

it.each(forms)('accepts newcomers and known people during a flood from %s', async (_form, callerOf) => {
  await using app = await testApp({ env: { BCRYPT_COST: '7', SIGN_IN_LIMIT: '100000', SIGNUP_ENABLED: 'true' } })
  const people = await Promise.all(Array.from({ length: 6 }, () => app.member()))
  const known = await app.member()
  const device = deviceOf(await signIn(app, known.email))
  let sent = 0
  const over = new AbortController()
  const refused = Promise.withResolvers<void>()
  async function flood(): Promise<void> {
    while (!over.signal.aborted) {
      const { ip, email } = callerOf(sent++)
      const { status } = await failSignIn(app, email, { ip })
      if (status === 429 && sent > 400) refused.resolve()
    }
  }
  const running = Array.from({ length: 60 }, flood)
  await refused.promise
  const newcomers = people.map(({ email }, index) => signIn(app, email, { ip: `${220 + index}.${index}.5.1` }))
  const account = { email: 'new@example.com', displayName: 'New', password: 'a fine password' }
  const signUp = app.anonymous.post('/api/auth/signup', account, { ip: '2a00:1:2::3' })
  const answers = await Promise.all([...newcomers, signUp, signIn(app, known.email, { device })])
  over.abort()
  await Promise.all(running)
  expect(answers.map(({ status }) => status)).toEqual([...people.map(() => 200), 202, 200])
})
