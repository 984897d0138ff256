import { expect, it } from 'vitest'
import type { Actor, Answer } from '../actor.ts'
import { testApp, type TestApp } from '../app.ts'
import { addPasskey, Authenticator } from '../support/authenticator.ts'
import { duringTransaction } from '../support/concurrent-transaction.ts'
import { interleave, interleavings } from '../support/interleave.ts'
import { Browser, providerEnv } from '../support/oidc.ts'
import { StubIssuer } from '../support/stub-issuer.ts'
import { addTotp, codeAt } from '../support/totp.ts'

const start = new Date('2026-01-01T12:00:00Z')
const later = new Date(start.getTime() + 30_000)

/** Changes of what signs in: what happens before the session ends, and the request that must then fail. */
const changes: Record<string, (session: Actor) => Promise<() => Promise<Answer>>> = {
  'adds a passkey': async (session) => {
    const { body } = await session.post('/api/auth/passkeys/options')
    const credential = new Authenticator().create(body)
    return () => session.post('/api/auth/passkeys', { name: 'Mine', credential })
  },
  'renames a passkey': async (session) => {
    await addPasskey(session)
    const [{ id }] = (await session.get('/api/auth/passkeys')).body.passkeys as [{ id: string }]
    return () => session.patch(`/api/auth/passkeys/${id}`, { name: 'Other' })
  },
  'removes a passkey': async (session) => {
    await addPasskey(session)
    const [{ id }] = (await session.get('/api/auth/passkeys')).body.passkeys as [{ id: string }]
    return () => session.delete(`/api/auth/passkeys/${id}`)
  },
  'sets up an authenticator app': async (session) => () => session.post('/api/auth/totp'),
  'confirms an authenticator app': async (session) => {
    const { secret } = (await session.post('/api/auth/totp')).body as { secret: string }
    return () => session.post('/api/auth/totp/confirm', { otp: codeAt(secret, start) })
  },
  'proves an authenticator app': async (session) => {
    const { secret } = await addTotp(session, start)
    return () => session.post('/api/auth/totp/proof', { otp: codeAt(secret, later) })
  },
  'removes an authenticator app': async (session) => {
    await addTotp(session, start)
    return () => session.delete('/api/auth/totp')
  },
  'renews recovery codes': async (session) => {
    await addTotp(session, start)
    return () => session.post('/api/auth/recovery-codes')
  },
  'changes the password': async (session) => () =>
    session.post('/api/auth/change-password', { currentPassword: 'correct horse', newPassword: 'battery staple' }),
  'creates a token': async (session) => () => session.post('/api/auth/keys', { name: 'ci' }),
  'rotates a token': async (session) => {
    const { body } = await session.post('/api/auth/keys', { name: 'ci' })
    return () => session.post(`/api/auth/keys/${body.id}/rotate`, {})
  },
}

const lockOf = ({ id }: { id: string }) => `select id from users where id = '${id}'`
/** Everything that signs in to the account. */
const stored = async (app: TestApp, { id }: { id: string }) =>
  JSON.stringify(
    await Promise.all(
      [
        `select name, credential_id from passkeys where user_id = '${id}'`,
        `select sealed, confirmed_at from totp_secrets where user_id = '${id}'`,
        `select hash from recovery_codes where user_id = '${id}' order by hash`,
        `select hash from access_tokens where user_id = '${id}' order by hash`,
        `select subject from linked_identities where user_id = '${id}'`,
        `select password_hash from users where id = '${id}'`,
      ].map((sql) => app.services.database.reads.all(sql)),
    ),
  )

it.each(Object.entries(changes))('%s only while the session lives', async (name, prepare) => {
  await using app = await testApp({ now: start })
  const alice = await app.member()
  const change = await prepare(await alice.session())
  const before = await stored(app, alice)
  const ends = [`delete from sessions where user_id = '${alice.id}'`]
  const answer = await duringTransaction(app, { lock: lockOf(alice), changes: ends }, change)
  expect(answer).toMatchObject({ status: 401, body: { error: { code: 'MissingAuthentication' } } })
  if (name === 'proves an authenticator app') return
  expect(await stored(app, alice)).toBe(before)
})

it('links and unlinks identities only while the session lives', async () => {
  await using stub = await StubIssuer.start()
  await using app = await testApp({ env: providerEnv(stub) })
  const alice = await app.member()
  const link = async () => {
    const browser = new Browser(app, (await alice.session()).cookies)
    const { redirectUrl } = await browser.mutate('linkIdentity', { provider: 'acme', returnTo: '/' }, 'redirectUrl')
    return { browser, finish: () => browser.finish(stub, new URL(redirectUrl), { sub: 'alice-1' }) }
  }
  const ends = { lock: lockOf(alice), changes: [`delete from sessions where user_id = '${alice.id}'`] }
  const late = await link()
  expect(await duringTransaction(app, ends, late.finish)).toMatch(/error=(session_ended|expired)/)
  const early = await link()
  expect(await early.finish()).toBe('/')
  const [{ id }] = (await early.browser.get('/api/auth/identities')).body.identities as [{ id: string }]
  const unlink = () => early.browser.actor.delete(`/api/auth/identities/${id}`)
  expect(await duringTransaction(app, ends, unlink)).toMatchObject({ status: 401 })
  expect(await app.services.database.reads.all('select subject from linked_identities')).toEqual([{ subject: 'alice-1' }])
})

it('adds no passkey and no token after the sessions were ended, in any order', async () => {
  await using app = await testApp({ now: start })
  const admin = await app.admin()
  for (let round = 0; round < interleavings; round++) {
    const alice = await app.member()
    const session = await alice.session()
    const { body } = await session.post('/api/auth/passkeys/options')
    const credential = new Authenticator().create(body)
    const addsToken = round % 2 === 0
    const add = () =>
      addsToken ? session.post('/api/auth/keys', { name: 'ci' }) : session.post('/api/auth/passkeys', { name: 'Mine', credential })
    const count = async () =>
      (await app.services.database.reads.all(`select id from ${addsToken ? 'access_tokens' : 'passkeys'} where user_id = '${alice.id}'`))
        .length
    const before = await count()
    // Counts when the sessions have ended: nothing is added later.
    const end = async () => {
      expect(await admin.put(`/api/admin/users/${alice.id}`, { isActive: false })).toMatchObject({ status: 200 })
      return count()
    }
    const [answer, atEnd] = await interleave<[Answer, number]>(app, round, [add, end])
    expect([201, 401]).toContain(answer.status)
    expect(await count()).toBe(atEnd)
    expect(atEnd - before).toBe(answer.status === 201 ? 1 : 0)
  }
})
