import type { EntityManager } from '@mikro-orm/sql'
import { countVoidPasskeys } from '../../../accounts/factors/factors.ts'
import { relyingParty } from '../../../accounts/factors/challenges.ts'
import { examineProvider } from '../../../accounts/providers/check.ts'
import { listProviders, type Provider } from '../../../accounts/providers/providers.ts'
import { countEndlessTokens } from '../../../accounts/tokens/service.ts'
import type { Config } from '../../../platform/config/config.ts'
import { db } from '../../../platform/db/query.ts'
import { readRow, readRows } from '../../../platform/db/statements.ts'
import type { Keys } from '../../../platform/http/keys.ts'
import { NotFetched } from '../../../platform/outbound/request.ts'
import { fetchKeys } from '../../../registry/trusted-publishing/keys.ts'
import type { State } from '../../../services.ts'
import { type Check, messageOf, passed, warning } from './check.ts'

type Examined = { em: EntityManager; config: Config; keys: Keys }

/** Results of the checks of sign-in. */
export type SignInFindings = {
  checks: Check[]
  /** Milliseconds by which this machine's clock is ahead of those of providers and CI systems, by description. */
  aheadMs: Record<string, number>
}

/** Checks providers, CI systems, passkeys and tokens, and settings that contradict what exists. Sends requests to each provider and CI system. */
export async function examineSignIn(examined: Examined): Promise<SignInFindings> {
  const { em, config, keys } = examined
  const state: State = {}
  const services = { config, state, stopping: new AbortController(), now: () => new Date() }
  const providers = await listProviders({ config, keys, em })
  const issuers = await readRows(em, db.selectFrom('token_issuers').select(['name', 'url']).orderBy('name'))
  const checks = await Promise.all([
    ...providers.map((provider) => checkProvider(services, provider)),
    ...issuers.map((issuer) => checkIssuer(services, issuer)),
    checkPasskeys(em, config),
    checkTokens(em, config),
  ])
  const named = [...issuers, ...providers.map(({ label: name, issuer: url }) => ({ name, url }))]
  const ahead = named.flatMap(({ name, url }) => {
    const clock = state.issuerClocks?.get(new URL(url).href)
    return clock ? [[`server of ${name}`, clock.aheadMs] as const] : []
  })
  return { checks: [...checks.flat(), ...contradictions(config, providers)], aheadMs: Object.fromEntries(ahead) }
}

type Services = Parameters<typeof examineProvider>[0]

async function checkProvider(services: Services, provider: Provider): Promise<Check> {
  const { failure, findings } = await examineProvider(services, provider)
  const name = `${provider.label} (${provider.issuer})`
  if (failure === null && findings.length === 0) return passed('sign-in provider', `${name} can be used for signing in.`)
  const advice = 'Check the issuer, DNS_SERVERS, the forward proxy and the firewall. Administration, Sign-in has a test.'
  if (failure !== null) return warning('sign-in provider', `${name}: ${failure}`, advice)
  return passed('sign-in provider', `${name} can be used for signing in. ${findings.join(' ')}`)
}

async function checkIssuer(services: Services, { name, url }: { name: string; url: string }): Promise<Check> {
  try {
    await fetchKeys(services, url)
    return passed('CI system', `The keys of ${name} (${url}) can be fetched.`)
  } catch (error) {
    if (!(error instanceof NotFetched)) throw error
    const advice =
      'Check DNS_SERVERS, the forward proxy, the firewall and TOKEN_ISSUER_HOSTS. Jobs are refused when its last keys are a day old.'
    return warning('CI system', `The keys of ${name} (${url}) could not be fetched: ${messageOf(error)}.`, advice)
  }
}

/** Reports passkeys that became void because SERVER_URL changed, such as on a restored server. Returns nothing without such passkeys. */
async function checkPasskeys(em: EntityManager, config: Config): Promise<Check[]> {
  const total = (await readRow(em, countVoidPasskeys(config)))?.total ?? 0
  const advice = 'Their owners sign in with a password and add new ones. For someone without another way to sign in: reset-password.'
  return total > 0 ? [warning('passkeys', `Passkeys for another address than ${config.SERVER_URL}, which are void: ${total}.`, advice)] : []
}

/** Reports tokens that never expire where new tokens must expire. */
async function checkTokens(em: EntityManager, { TOKEN_MAX_DAYS: max, SERVER_URL }: Config): Promise<Check[]> {
  if (max === undefined) return []
  const total = (await readRows(em, countEndlessTokens())).reduce((sum, row) => sum + row.total, 0)
  if (total === 0) return [passed('tokens', `All tokens expire, new ones after at most ${max} days (TOKEN_MAX_DAYS).`)]
  const message = `TOKEN_MAX_DAYS is ${max}, but tokens that never expire were created before: ${total}.`
  return [warning('tokens', message, `Ask their owners to rotate them, or revoke them: ${SERVER_URL}/admin#endless`)]
}

/** Reports settings that work, but not as intended, with the providers of this server. */
function contradictions(config: Config, providers: readonly Provider[]): Check[] {
  const { PASSWORD_SIGN_IN, OIDC_SIGNUP, REQUIRE_SECOND_FACTOR, SERVER_URL } = config
  const hasPasskeys = relyingParty(config) !== null
  const found: [boolean, string, string][] = [
    [
      PASSWORD_SIGN_IN === 'owner' && providers.length === 0,
      `PASSWORD_SIGN_IN=owner, but there is no sign-in provider: ${hasPasskeys ? 'only the owner and people with a passkey can sign in' : 'only the owner can sign in'}.`,
      'Add a provider, or remove PASSWORD_SIGN_IN.',
    ],
    [
      OIDC_SIGNUP !== 'off' && providers.length === 0,
      `OIDC_SIGNUP=${OIDC_SIGNUP} has no effect, because there is no sign-in provider.`,
      'Add a provider, or remove OIDC_SIGNUP.',
    ],
    [
      REQUIRE_SECOND_FACTOR !== 'off' && !hasPasskeys,
      `REQUIRE_SECOND_FACTOR=${REQUIRE_SECOND_FACTOR}, but passkeys cannot be used at ${SERVER_URL}: people need an authenticator app.`,
      'Passkeys require https and a host name. See the help page Reverse proxy.',
    ],
  ]
  return found.flatMap(([applies, message, advice]) => (applies ? [warning('configuration', message, advice)] : []))
}
