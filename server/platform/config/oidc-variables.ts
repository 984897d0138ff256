import { z } from 'zod'
import ipaddr from 'ipaddr.js'
import { integer, list, oneOf, text } from './forms.ts'

/** A sign-in provider that is configured by the environment. */
export type OidcSettings = {
  /** Name in the URL `/auth/oidc/<name>`. */
  name: string
  label: string
  issuer: string
  clientId: string
  clientSecret: string | null
  scopes: string
  groupsClaim: string | null
  /** Whether its sign-ins count as having a second factor, whatever its ID tokens contain. */
  trustsSecondFactor: boolean
}

/** Returns whether a text can be the name of a provider, as in its URL. */
export const isProviderName = (text: string): boolean => text.length <= 32 && /^[a-z0-9]+(?:_[a-z0-9]+)*$/.test(text)

const isOwnNetwork = (host: string): boolean => {
  const address = host.replace(/^\[|\]$/g, '')
  if (ipaddr.isValid(address)) return ipaddr.process(address).range() !== 'unicast'
  return !host.includes('.') || /\.(localhost|local|internal|intranet|private|corp|home|lan|home\.arpa|test)$/.test(host)
}

/** The issuer of a provider. Plain http is only accepted in a private network. */
export const oidcIssuer = text.refine((value) => {
  const url = URL.parse(value)
  if (!url || url.username || url.password || url.search || url.hash || value.length > 255) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isOwnNetwork(url.hostname))
}, 'must be the issuer of the provider, such as https://login.example.com; plain http is only for hosts of a private network')

/** Scopes of a provider, which include `openid`. */
export const oidcScopes = text.refine(
  (value) => value.split(/\s+/).includes('openid') && /^[\x21\x23-\x5b\x5d-\x7e ]{1,500}$/.test(value),
  'must be scopes separated by spaces, with openid among them',
)

const short = (max: number) => text.refine((value) => value.length <= max, `must have at most ${max} characters`)

export const oidcTexts = { label: short(100), clientId: short(255), clientSecret: short(1000), groupsClaim: short(200) }

/** Scopes of providers that configure none. */
export const defaultScopes = 'openid email profile'

type Part = { schema: z.ZodType<string>; about: string; secret?: true; shownDefault?: string; required?: true }

/** The settings of one provider, by the end of their name. */
const parts = {
  ISSUER: {
    schema: oidcIssuer,
    required: true,
    about:
      'Issuer of a provider for company sign-in, such as `https://login.example.com/realms/acme`. Its name in URLs is `<name>` in lower case.',
  },
  CLIENT_ID: { schema: oidcTexts.clientId, required: true, about: 'Client id of this server at the provider.' },
  CLIENT_SECRET: {
    schema: oidcTexts.clientSecret,
    secret: true,
    about: 'Client secret of this server at the provider. Leave it out for a public client.',
  },
  SCOPES: { schema: oidcScopes, shownDefault: `\`${defaultScopes}\``, about: 'Scopes to request from the provider, separated by spaces.' },
  GROUPS_CLAIM: {
    schema: oidcTexts.groupsClaim,
    about: 'Claim with the groups of a user, such as `groups`. Without it, groups give no role or membership.',
  },
  LABEL: { schema: oidcTexts.label, shownDefault: 'the name', about: 'Name of the provider on the sign-in page.' },
  TRUST_SECOND_FACTOR: {
    schema: oneOf('true', 'false'),
    shownDefault: '`false`',
    about:
      'Whether sign-ins through the provider count as having a second factor (REQUIRE_SECOND_FACTOR). Otherwise they do if its ID token has `mfa`, or methods of two kinds, in `amr`.',
  },
} satisfies Record<string, Part>

const familyName = new RegExp(`^OIDC_([A-Z0-9]+(?:_[A-Z0-9]+)*?)_(${Object.keys(parts).join('|')})$`)

/** Settings of sign-in with OpenID Connect other than those of one provider. */
export const oidcVariables = {
  OIDC_SIGNUP: {
    schema: oneOf('off', 'domain', 'group'),
    default: 'off',
    about:
      'Whether the first sign-in through a provider creates an account: `off`, `domain` (verified e-mail address in OIDC_SIGNUP_DOMAINS) or `group` (member of one of OIDC_SIGNUP_GROUPS).',
  },
  OIDC_SIGNUP_DOMAINS: { schema: list, default: '', about: 'Domains of e-mail addresses for OIDC_SIGNUP=domain, separated by commas.' },
  OIDC_SIGNUP_GROUPS: { schema: list, default: '', about: 'Groups for OIDC_SIGNUP=group, separated by commas.' },
  OIDC_DEFAULT_ROLE: {
    schema: oneOf('viewer', 'member', 'admin'),
    default: 'viewer',
    about: 'Role of accounts that a provider creates, unless their groups give a higher one.',
  },
  OIDC_MAX_IDLE_DAYS: {
    schema: integer(1, 3650),
    default: '30',
    about:
      'Days without a sign-in through a provider after which sessions of an account without a password end and its tokens pause, until the next sign-in.',
  },
  PASSWORD_SIGN_IN: {
    schema: oneOf('all', 'owner'),
    default: 'all',
    about: 'Who may sign in with a password: `all`, or `owner` for the owner only.',
  },
} as const

/** Rows of the table of settings for the settings of one provider. */
export const oidcProviderRows: [string, Part][] = Object.entries<Part>(parts).map(([end, part]) => [`OIDC_<NAME>_${end}`, part])

/** Returns the names of the settings of providers in an environment, without `_FILE`. `unknown` are names with the prefix that are not settings. */
export function oidcNames(environment: Record<string, unknown>): { known: string[]; unknown: string[] } {
  const plain = Object.keys(environment)
    .filter((name) => name.startsWith('OIDC_') && environment[name] !== undefined)
    .map((name) => name.replace(/_FILE$/, ''))
  const names = [...new Set(plain)].filter((name) => !(name in oidcVariables) && !isServiceVariable(name))
  return { known: names.filter((name) => familyName.test(name)), unknown: names.filter((name) => !familyName.test(name)) }
}

/** Whether Kubernetes defines a variable for a service named `oidc`. */
const isServiceVariable = (name: string): boolean => /_(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_\w+)?)$/.test(name)

/** Reads the providers from their settings. `valueOf` returns the text of a setting. Problems are added to `problems`. */
export function readOidcProviders(
  environment: Record<string, unknown>,
  valueOf: (name: string) => string | undefined,
  problems: string[],
): OidcSettings[] {
  const { known, unknown } = oidcNames(environment)
  problems.push(
    ...unknown.map(
      (name) => `${name}: is not a setting. Settings of a provider are named ${oidcProviderRows.map(([row]) => row).join(', ')}.`,
    ),
  )
  const names = Map.groupBy(known, (name) => familyName.exec(name)?.[1] ?? '')
  return [...names.keys()].toSorted().flatMap((name) => readProvider(name, valueOf, problems) ?? [])
}

function readProvider(name: string, valueOf: (name: string) => string | undefined, problems: string[]): OidcSettings | null {
  const before = problems.length
  const values = Object.fromEntries(
    Object.entries<Part>(parts).map(([end, { schema, required }]) => {
      const setting = `OIDC_${name}_${end}`
      const raw = valueOf(setting)
      if (raw === undefined) {
        if (required) problems.push(`${setting}: is required for the provider ${name.toLowerCase()}`)
        return [end, undefined]
      }
      const parsed = schema.safeParse(raw)
      if (!parsed.success) problems.push(...parsed.error.issues.map(({ message }) => `${setting}: ${message}`))
      return [end, parsed.data]
    }),
  ) as Partial<Record<keyof typeof parts, string>>
  if (!isProviderName(name.toLowerCase())) problems.push(`OIDC_${name}_ISSUER: the name of the provider must have at most 32 characters`)
  if (problems.length > before) return null
  const { ISSUER: issuer = '', CLIENT_ID: clientId = '', CLIENT_SECRET, SCOPES = defaultScopes, GROUPS_CLAIM, LABEL } = values
  const trustsSecondFactor = values.TRUST_SECOND_FACTOR === 'true'
  const key = name.toLowerCase()
  const optional = { clientSecret: CLIENT_SECRET ?? null, groupsClaim: GROUPS_CLAIM ?? null, label: LABEL ?? key }
  return { name: key, issuer, clientId, scopes: SCOPES, trustsSecondFactor, ...optional }
}

/** Returns one line per setting of a provider, with its secret masked. */
export const describeOidcProvider = (
  { name, issuer, clientId, clientSecret, scopes, groupsClaim, label, trustsSecondFactor }: OidcSettings,
  mask: string,
): string[] => {
  const values = {
    ISSUER: issuer,
    CLIENT_ID: clientId,
    CLIENT_SECRET: clientSecret && mask,
    SCOPES: scopes,
    GROUPS_CLAIM: groupsClaim,
    LABEL: label,
    TRUST_SECOND_FACTOR: String(trustsSecondFactor),
  }
  return Object.entries(values).flatMap(([end, value]) => (value === null ? [] : [`OIDC_${name.toUpperCase()}_${end}=${value}`]))
}

/** Returns the problems of settings that do not fit together. */
export function conflictingOidcSettings(values: Record<string, unknown>): string[] {
  const isEmpty = (name: string) => Array.isArray(values[name]) && values[name].length === 0
  const problems: string[] = []
  if (values.OIDC_SIGNUP === 'domain' && isEmpty('OIDC_SIGNUP_DOMAINS'))
    problems.push('OIDC_SIGNUP_DOMAINS: is required with OIDC_SIGNUP=domain')
  if (values.OIDC_SIGNUP === 'group' && isEmpty('OIDC_SIGNUP_GROUPS'))
    problems.push('OIDC_SIGNUP_GROUPS: is required with OIDC_SIGNUP=group')
  return problems
}
