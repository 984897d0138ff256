import { expect, it } from 'vitest'
import type { Check } from '../../server/operations/checks/doctor/check.ts'
import { type TestApp, testApp } from '../app.ts'
import { environmentOf, runCommand } from '../support/admin.ts'
import { freePort } from '../support/free-port.ts'
import { providerEnv } from '../support/oidc.ts'
import { StubIssuer } from '../support/stub-issuer.ts'
import { trustedApp } from '../support/trusted-app.ts'

/** Runs the doctor with further settings, and returns a function that finds the results of a check. */
async function diagnose(app: TestApp, more: Record<string, string> = {}) {
  const settings = { ...environmentOf(app), LISTEN_PORT: String(await freePort()), ...more }
  const { checks } = JSON.parse((await runCommand(settings, 'doctor', '--quick', '--json')).out) as { checks: Check[] }
  return (wanted: string) => checks.filter(({ name }) => name === wanted)
}

it('checks each sign-in provider, with its clock', async () => {
  await using stub = await StubIssuer.start()
  await using app = await testApp({ env: providerEnv(stub) })
  const settings = { ...providerEnv(stub), OIDC_ACME_GROUPS_CLAIM: 'groups' }
  const find = await diagnose(app, settings)
  expect(find('sign-in provider')).toMatchObject([{ status: 'ok', message: expect.stringContaining(`acme (${stub.issuer}) can be used`) }])
  expect(find('clocks')[0]?.message).toContain('the server of acme')
  stub.behaviour.metadata = { issuer: 'https://another.test' }
  expect((await diagnose(app, settings))('sign-in provider')).toMatchObject([
    { status: 'warning', message: expect.stringContaining('The metadata of the provider cannot be used'), advice: expect.any(String) },
  ])
  await stub[Symbol.asyncDispose]()
  expect((await diagnose(app, settings))('sign-in provider')).toMatchObject([
    { status: 'warning', message: expect.stringContaining('The provider does not answer') },
  ])
})

it('checks the keys of each CI system', async () => {
  await using all = await trustedApp()
  const { app, issuer } = all
  const settings = { TOKEN_ISSUER_HOSTS: issuer.host }
  expect((await diagnose(app, settings))('CI system')).toMatchObject([
    { status: 'ok', message: `The keys of GitHub Actions (${issuer.url()}) can be fetched.` },
  ])
  issuer.answerKeys = (response) => response.writeHead(500).end()
  expect((await diagnose(app, settings))('CI system')).toMatchObject([
    { status: 'warning', message: expect.stringContaining('could not be fetched'), advice: expect.stringContaining('TOKEN_ISSUER_HOSTS') },
  ])
})

it('warns of settings that contradict each other or what exists', async () => {
  await using app = await testApp()
  await app.admin()
  const find = await diagnose(app, {
    SERVER_URL: 'http://192.0.2.1:8080',
    PASSWORD_SIGN_IN: 'owner',
    OIDC_SIGNUP: 'domain',
    OIDC_SIGNUP_DOMAINS: 'acme.test',
    REQUIRE_SECOND_FACTOR: 'admins',
    TOKEN_MAX_DAYS: '90',
  })
  const messages = find('configuration').map(({ message }) => message)
  expect(messages).toContain('PASSWORD_SIGN_IN=owner, but there is no sign-in provider: only the owner can sign in.')
  expect(messages).toContain('OIDC_SIGNUP=domain has no effect, because there is no sign-in provider.')
  expect(messages.join()).toContain('REQUIRE_SECOND_FACTOR=admins, but passkeys cannot be used at http://192.0.2.1:8080')
  const [tokens] = find('tokens')
  expect(tokens).toMatchObject({ status: 'warning', message: expect.stringMatching(/^TOKEN_MAX_DAYS is 90, but .*: [1-9]\d*\.$/) })
  await app.services.database.fork().execute('update access_tokens set expires_at = created_at')
  const sound = await diagnose(app, { SERVER_URL: 'http://localhost:8080', REQUIRE_SECOND_FACTOR: 'all', TOKEN_MAX_DAYS: '90' })
  expect(sound('tokens')).toMatchObject([{ status: 'ok' }])
  expect(sound('configuration').some(({ message }) => message.startsWith('REQUIRE_SECOND_FACTOR'))).toBe(false)
})

it('reports domains or groups that are missing for OIDC_SIGNUP', async () => {
  await using app = await testApp()
  for (const [kind, setting] of [
    ['domain', 'OIDC_SIGNUP_DOMAINS'],
    ['group', 'OIDC_SIGNUP_GROUPS'],
  ] as const)
    expect((await diagnose(app, { OIDC_SIGNUP: kind }))('configuration')).toMatchObject([
      { status: 'failed', message: expect.stringContaining(`${setting}: is required with OIDC_SIGNUP=${kind}`) },
    ])
})
