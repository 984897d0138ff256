import { expect, it } from 'vitest'
import { announceSetupCode } from '../../server/accounts/setup/service.ts'
import type { Actor, Answer } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { subscribeAt } from '../support/events.ts'
import { anotherInstance } from '../support/instances.ts'
import { runJobs } from '../support/jobs.ts'
import { setSwitch } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'
import { SdkSite } from '../support/sdk-site.ts'

/** A change on one instance, and the answers of another instance before and after it. */
type Effect = {
  name: string
  /** Prepares the data and returns the change and the check. */
  open: (app: TestApp, second: TestApp) => Promise<{ change: () => Promise<Answer>; look: () => Promise<unknown> }>
  before: unknown
  after: unknown
}

const status = async (answer: Promise<Answer>) => (await answer).status
const account = { email: 'ada@example.com', displayName: 'Ada', password: 'a fine password' }

/** Creates a member with a package of two versions. */
async function createAuthor(app: TestApp): Promise<Actor> {
  const alice = await app.member()
  for (const version of ['1.0.0', '1.1.0']) await publish(alice, { name: 'acme', version })
  return alice
}

const archive = '/api/archives/acme-1.1.0.tar.gz'

const effects: Effect[] = [
  {
    name: 'the revocation of a token',
    async open(app, second) {
      const { secret = '' } = await app.member()
      const there = second.withToken(secret)
      return { change: () => app.anonymous.post('/api/tokens/revoke', { secret }), look: () => status(there.get('/api/auth/me')) }
    },
    before: 200,
    after: 401,
  },
  {
    name: 'the end of a session',
    async open(app, second) {
      const browser = await (await app.member()).session()
      const there = browser.at(second)
      return { change: () => browser.post('/api/auth/logout'), look: () => status(there.get('/api/auth/me')) }
    },
    before: 200,
    after: 401,
  },
  {
    name: 'a new password, which ends other sessions',
    async open(app, second) {
      const alice = await app.member()
      const [browser, there] = [await alice.session(), (await alice.session()).at(second)]
      const passwords = { currentPassword: 'correct horse', newPassword: 'another fine one' }
      const signIn = (password: string) => status(second.anonymous.post('/api/auth/login', { email: alice.email, password }))
      const look = async () => [await status(there.get('/api/auth/me')), await signIn('correct horse'), await signIn('another fine one')]
      return { change: () => browser.post('/api/auth/change-password', passwords), look }
    },
    before: [200, 200, 401],
    after: [401, 401, 200],
  },
  {
    name: 'another role',
    async open(app, second) {
      const [admin, alice] = [await app.admin(), await app.member()]
      const there = alice.at(second)
      const change = () => admin.put(`/api/admin/users/${alice.id}`, { role: 'viewer' })
      return { change, look: () => status(there.get('/api/packages/versions/new')) }
    },
    before: 200,
    after: 403,
  },
  {
    name: 'the end of an account',
    async open(app, second) {
      const [admin, alice] = [await app.admin(), await app.member()]
      const there = alice.at(second)
      const change = () => admin.put(`/api/admin/users/${alice.id}`, { isActive: false })
      return { change, look: () => status(there.get('/api/auth/me')) }
    },
    before: 200,
    after: 401,
  },
  {
    name: 'a retraction',
    async open(app, second) {
      const alice = await createAuthor(app)
      const there = alice.at(second)
      const look = async () => (await there.get('/api/packages/acme')).body.latest.version
      return { change: () => alice.put('/api/packages/acme/versions/1.1.0/options', { isRetracted: true }), look }
    },
    before: '1.1.0',
    after: '1.0.0',
  },
  {
    name: 'the deletion of a version',
    async open(app, second) {
      const [alice, admin] = [await createAuthor(app), await app.admin()]
      const there = alice.at(second)
      const look = async () => [await status(there.get(archive)), (await there.get('/api/packages/acme')).body.versions.length]
      return { change: () => admin.delete('/api/admin/packages/acme/versions/1.1.0'), look }
    },
    before: [200, 2],
    after: [404, 1],
  },
  {
    name: 'the deletion of a package',
    async open(app, second) {
      const [alice, admin] = [await createAuthor(app), await app.admin()]
      const there = alice.at(second)
      const look = async () => [await status(there.get(archive)), await status(there.get('/api/packages/acme'))]
      return { change: () => admin.delete('/api/admin/packages/acme'), look }
    },
    before: [200, 200],
    after: [404, 404],
  },
  {
    name: 'a package that becomes private',
    async open(app, second) {
      await setSwitch(app, true)
      const alice = await createAuthor(app)
      const change = (visibility: string) =>
        alice.put('/api/packages/acme/visibility', { visibility, confirm: 'acme', acceptBreakage: true })
      await change('public')
      const look = async () => [await status(second.anonymous.get(archive)), await status(second.anonymous.get('/api/packages/acme'))]
      return { change: () => change('private'), look }
    },
    before: [200, 200],
    after: [401, 401],
  },
  {
    name: 'the switch for public packages',
    async open(app, second) {
      await setSwitch(app, true)
      const admin = await app.admin()
      const look = async () => (await second.anonymous.get('/api/setup/status')).body.publicBrowsing
      return { change: () => admin.put('/api/admin/public-packages', { enabled: false }), look }
    },
    before: true,
    after: false,
  },
  {
    name: 'the switch for scoring',
    async open(app, second) {
      const admin = await app.admin()
      const look = async () => (await admin.at(second).get('/api/admin/sdk/settings')).body.scoringEnabled
      return { change: () => admin.put('/api/admin/sdk/settings', { scoringEnabled: false }), look }
    },
    before: true,
    after: false,
  },
]

it.each(effects)('shows $name with the next request, on every instance', async ({ open, before, after }) => {
  await using app = await testApp({ env: { PUBLIC_PACKAGES_ENABLED: 'true' } })
  await using other = await anotherInstance(app)
  const { change, look } = await open(app, other ?? app)
  // Checks twice to fill the caches of the other instance.
  expect([await look(), await look()]).toEqual([before, before])
  expect(await change()).toMatchObject({ status: expect.toBeOneOf([200, 204]) })
  expect(await look()).toEqual(after)
})

it('counts attempts across all instances', async () => {
  await using app = await testApp()
  await using other = await anotherInstance(app)
  const second = other ?? app
  const attempt = { email: 'unknown@example.com', password: 'wrong' }
  for (let round = 0; round < 5; round++) {
    await app.anonymous.post('/api/auth/login', attempt)
    await second.anonymous.post('/api/auth/login', attempt)
  }
  expect(await second.anonymous.post('/api/auth/login', attempt)).toMatchObject({ status: 429 })
})

it('reports the progress of an installation to subscribers on another instance', async () => {
  const site = await SdkSite.open()
  await site.addDart('3.11.0')
  await using app = await testApp({ env: site.env })
  await using other = await anotherInstance(app)
  const admin = await app.admin()
  const { id } = (await admin.post('/api/admin/sdk/installs', { version: '3.11.0', channel: 'stable' })).body
  const query = 'subscription ($id: ID!) { sdkInstallProgress(installId: $id) { status percent } }'
  const events = await subscribeAt(await (other ?? app).listen(), admin.secret, query, { id })
  expect(await events.next()).toEqual({ data: { sdkInstallProgress: { status: 'DOWNLOADING', percent: 0 } } })
  await runJobs(app)
  // Intermediate progress may or may not be seen.
  let [last, next] = [null, await events.next()]
  while (next !== null) [last, next] = [next, await events.next()]
  expect(last).toEqual({ data: { sdkInstallProgress: { status: 'READY', percent: 100 } } })
})

/** Returns the setup code that the instance printed last. */
const codeOf = (app: TestApp) =>
  app.lines
    .findLast((line) => line.startsWith('Setup code: '))
    ?.slice(12)
    .trim()
const enterCode = (app: TestApp, code: string | undefined) => app.anonymous.post('/api/setup/verify', { code })

it('prints one setup code on all instances, accepted once by any of them', async () => {
  await using app = await testApp({ setUp: false })
  await using other = await anotherInstance(app)
  const second = other ?? app
  await Promise.all([app, ...(other ? [other] : [])].map((one) => announceSetupCode(one.services)))
  const code = codeOf(app)
  expect(codeOf(second)).toBe(code)
  const verified = await enterCode(app, code)
  expect(verified).toMatchObject({ status: 200 })
  const sent = { ...account, setupToken: verified.body.setupToken }
  expect(await second.anonymous.post('/api/setup/complete', sent)).toMatchObject({ status: 201 })
  for (const one of [app, second]) {
    expect(await enterCode(one, code)).toMatchObject({ status: 404 })
    expect(await one.anonymous.post('/api/setup/complete', sent)).toMatchObject({ status: 404 })
  }
})

it.each([
  ['was entered', (app: TestApp) => enterCode(app, codeOf(app))],
  ['is a day old', async (app: TestApp) => void (app.clock.now = new Date(Date.now() + 86_400_000))],
])('prints a new setup code at startup when the previous one %s', async (_why, happen) => {
  await using app = await testApp({ setUp: false })
  await using other = await anotherInstance(app)
  const second = other ?? app
  await announceSetupCode(app.services)
  const code = codeOf(app)
  await happen(app)
  await announceSetupCode(second.services)
  expect(codeOf(second)).not.toBe(code)
  expect(await enterCode(second, code)).toMatchObject({ status: 400 })
  expect(await enterCode(second, codeOf(second))).toMatchObject({ status: 200 })
})

it('prints a new setup code after a restart', async () => {
  await using app = await testApp({ setUp: false })
  await announceSetupCode(app.services)
  const code = codeOf(app)
  await app.stop()
  await using again = await testApp({ sameDatabaseAs: app })
  await announceSetupCode(again.services)
  expect(codeOf(again)).not.toBe(code)
  expect(await enterCode(again, code)).toMatchObject({ status: 400 })
})
