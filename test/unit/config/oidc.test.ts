import { describe, expect, it } from 'vitest'
import { ConfigError, describeConfig, readConfig } from '../../../server/platform/config/config.ts'

const base = { SERVER_URL: 'https://pub.example.com', JWT_SECRET: 'a secret for tests that is long enough' }
const acme = { OIDC_ACME_ISSUER: 'https://login.example.com', OIDC_ACME_CLIENT_ID: 'snug' }

function problemsOf(environment: Record<string, string>): string[] {
  try {
    readConfig({ ...base, ...environment })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

describe('the settings of sign-in providers', () => {
  it('are read by name, with defaults', () => {
    const other = {
      OIDC_MY_IDP_2_ISSUER: 'http://10.0.0.5:8080/realms/x',
      OIDC_MY_IDP_2_CLIENT_ID: 'x',
      OIDC_MY_IDP_2_CLIENT_SECRET: 'secret',
    }
    const config = readConfig({
      ...base,
      ...acme,
      ...other,
      OIDC_ACME_LABEL: 'Acme',
      OIDC_SERVICE_HOST: '10.0.0.1',
      OIDC_PORT: 'tcp://10.0.0.1',
    })
    const defaults = { scopes: 'openid email profile', groupsClaim: null, trustsSecondFactor: false }
    expect(config.oidcProviders).toEqual([
      { ...defaults, name: 'acme', label: 'Acme', issuer: 'https://login.example.com', clientId: 'snug', clientSecret: null },
      { ...defaults, name: 'my_idp_2', label: 'my_idp_2', issuer: 'http://10.0.0.5:8080/realms/x', clientId: 'x', clientSecret: 'secret' },
    ])
    expect(describeConfig(config)).toContain('OIDC_MY_IDP_2_CLIENT_SECRET=********')
  })

  it.each([
    [{ OIDC_ACME_ISSUER: 'https://x.example' }, 'OIDC_ACME_CLIENT_ID: is required'],
    [{ ...acme, OIDC_ACME_SECRET: 'x' }, 'OIDC_ACME_SECRET: is not a setting'],
    [{ OIDC_ISSUER: 'https://x.example' }, 'OIDC_ISSUER: is not a setting'],
    [{ ...acme, OIDC_acme_LABEL: 'x' }, 'OIDC_acme_LABEL: is not a setting'],
    [{ ...acme, OIDC_SIGN_UP: 'off' }, 'OIDC_SIGN_UP: is not a setting'],
    [{ ...acme, OIDC_ACME_ISSUER: 'http://login.example.com' }, 'OIDC_ACME_ISSUER: must be the issuer'],
    [{ ...acme, OIDC_ACME_SCOPES: 'email' }, 'OIDC_ACME_SCOPES: must be scopes'],
    [{ ...acme, OIDC_SIGNUP: 'domain' }, 'OIDC_SIGNUP_DOMAINS: is required'],
    [{ ...acme, OIDC_SIGNUP: 'group' }, 'OIDC_SIGNUP_GROUPS: is required'],
    [{ ...acme, OIDC_DEFAULT_ROLE: 'owner' }, 'OIDC_DEFAULT_ROLE: write one of'],
    [{ ...acme, OIDC_ACME_CLIENT_SECRET: 'x', OIDC_ACME_CLIENT_SECRET_FILE: '/x' }, 'both are set'],
    [{ ...acme, OIDC_ACME_CLIENT_SECRET_FILE: '/does/not/exist' }, 'cannot be read'],
  ])('are refused with what is wrong: %j', (environment, message) => {
    expect(problemsOf(environment).join('\n')).toContain(message)
  })
})
