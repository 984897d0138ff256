import { expect, it } from 'vitest'
import type { Config } from '../../server/platform/config/config.ts'
import { Actor } from '../actor.ts'
import { type TestApp, testApp } from '../app.ts'
import { cookieNames } from '../support/cookies.ts'

const names = cookieNames()

const [oldKey, newKey] = ['a secret for tests that is long enough', 'another secret for tests, long enough too']
const rotated = { JWT_SECRET: newKey, JWT_SECRET_PREVIOUS: oldKey }

/** Stops the server and restarts it with other settings. */
async function restart(app: TestApp, config: Partial<Config>): Promise<TestApp> {
  await app.stop()
  return testApp({ sameDatabaseAs: app, config })
}

const signIn = (app: TestApp, email: string, ip: string, device?: string) =>
  app.anonymous.post(
    '/api/auth/login',
    { email, password: 'correct horse' },
    { ip, ...(device !== undefined && { headers: { cookie: `${names.device}=${device}` } }) },
  )
const cookieIn = (answer: Awaited<ReturnType<typeof signIn>>, name: string) =>
  answer.cookies.find((cookie) => cookie.name === name)?.value ?? ''

it('keeps sessions and their CSRF tokens valid while the previous key is set', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const before = await alice.session()
  await using after = await restart(app, rotated)
  const old = before.at(after)
  expect(await old.get('/api/auth/me')).toMatchObject({ status: 200, body: { email: alice.email } })
  expect(await old.patch('/api/auth/profile', { displayName: 'Alice' })).toMatchObject({ status: 200 })
  expect(await old.graphql('mutation { updateProfile(input: {displayName: "A"}) { viewer { displayName } } }')).toMatchObject({
    status: 200,
  })
  const fresh = await alice.at(after).session()
  expect(fresh.csrf).not.toBe(before.csrf)
  const { [names.session]: session = '' } = fresh.cookies
  const crossed = new Actor(after.http, { user: alice.user, cookies: { [names.session]: session, [names.csrf]: before.csrf } })
  expect(await crossed.patch('/api/auth/profile', { displayName: 'Eve' })).toMatchObject({
    status: 403,
    body: { error: { code: 'CsrfMismatch' } },
  })
  // Sessions that began under the new key do not need the previous one.
  await using later = await restart(after, { JWT_SECRET: newKey, JWT_SECRET_PREVIOUS: undefined })
  expect(await fresh.at(later).get('/api/auth/me')).toMatchObject({ status: 200 })
  expect(await before.at(later).get('/api/auth/me')).toMatchObject({ status: 401 })
})

it('ends sessions when the key changes without the previous one, and accepts none of a third key', async () => {
  await using app = await testApp()
  const session = await (await app.member()).session()
  await using alone = await restart(app, { JWT_SECRET: newKey })
  expect(await session.at(alone).get('/api/auth/me')).toMatchObject({ status: 401 })
  await using third = await restart(alone, { JWT_SECRET: newKey, JWT_SECRET_PREVIOUS: 'a third secret for tests, never used before' })
  expect(await session.at(third).get('/api/auth/me')).toMatchObject({ status: 401 })
})

it('recognizes devices and address ranges after a key rotation and renews them at sign-in', async () => {
  await using app = await testApp()
  const [{ email }, bob] = [await app.member(), await app.member()]
  const device = cookieIn(await signIn(app, email, '198.51.100.7'), names.device)
  await signIn(app, bob.email, '198.51.100.9', device)
  await using after = await restart(app, rotated)
  const rows = () => after.services.database.reads.all<{ hash: string }>('select hash from sign_in_origins order by id')
  const before = await rows()
  await exhaustFailures(after, email)
  expect(await signIn(after, email, '192.0.2.200')).toMatchObject({ status: 429 })
  expect(await signIn(after, email, '198.51.100.200')).toMatchObject({ status: 200 })
  const known = await signIn(after, email, '192.0.2.201', device)
  expect(known).toMatchObject({ status: 200 })
  const renewed = cookieIn(known, names.device)
  expect(renewed).not.toBe(device)
  expect(renewed.split('.')[0]).toBe(device.split('.')[0])
  // The same browser with its renewed cookie is still known to another account that used it.
  await exhaustFailures(after, bob.email)
  expect(await signIn(after, bob.email, '192.0.2.202', renewed)).toMatchObject({ status: 200 })
  const hashes = (await rows()).map(({ hash }) => hash)
  expect(before.filter(({ hash }) => hashes.includes(hash))).toHaveLength(1) // Only the address range that bob did not use again.
  await using later = await restart(after, { JWT_SECRET: newKey, JWT_SECRET_PREVIOUS: undefined })
  await exhaustFailures(later, email)
  expect(await signIn(later, email, '198.18.0.8', renewed)).toMatchObject({ status: 200 })
  expect(await signIn(later, email, '198.18.1.9', device)).toMatchObject({ status: 429 })
})

/** Exhausts the sign-in failures allowed to unknown devices. */
async function exhaustFailures(app: TestApp, email: string): Promise<void> {
  for (let round = 0; round < 50; round++)
    await app.anonymous.post('/api/auth/login', { email, password: 'wrong' }, { ip: `203.${round}.113.9` })
}
