import { expect, it } from 'vitest'
import { statuses } from '../actor.ts'
import { testApp } from '../app.ts'
import { addPasskey, prove, signInOptions, signInWith } from '../support/authenticator.ts'
import { addTotp, codeAt } from '../support/totp.ts'

const start = new Date('2026-01-01T12:00:00Z')
// SQLite allows one instance.
const hasInstances = process.env.TEST_DB === 'postgres'

it.runIf(hasInstances)('accepts on one instance what another one issued, and removes for both', async () => {
  await using app = await testApp({ now: start })
  await using other = await testApp({ sameDatabaseAs: app })
  const alice = await app.member()
  const browser = await alice.session()
  const passkey = await addPasskey(browser)
  const { options, headers, ip } = await signInOptions(app)
  const answer = await other.anonymous.post('/api/auth/passkey/login', { credential: passkey.get(options) }, { headers, ip })
  expect(answer).toMatchObject({ status: 200 })
  expect(await prove(browser.at(other), passkey)).toMatchObject({ status: 200 })
  const [{ id }] = (await browser.at(other).get('/api/auth/passkeys')).body.passkeys as [{ id: string }]
  expect(await browser.at(other).delete(`/api/auth/passkeys/${id}`)).toMatchObject({ status: 200 })
  expect(await signInWith(app, passkey)).toMatchObject({ status: 401 })
})

it.runIf(hasInstances)('accepts a code once on all instances', async () => {
  await using app = await testApp({ now: start })
  await using other = await testApp({ sameDatabaseAs: app })
  const alice = await app.member()
  const { secret, recoveryCodes } = await addTotp(await alice.session(), start)
  const otp = codeAt(secret, new Date(start.getTime() + 30_000))
  for (const codes of [{ otp }, { recoveryCode: recoveryCodes[0] }]) {
    const login = ({ anonymous }: typeof app) =>
      anonymous.post('/api/auth/login', { email: alice.email, password: 'correct horse', ...codes }, { ip: app.address() })
    expect(statuses(await Promise.all([login(app), login(other), login(app), login(other)]))).toEqual([200, 401, 401, 401])
  }
})
