import { type AddressRange, isInRange, parseAddress, parseRange } from '../http/client-address.ts'
import { patternTest } from '../pub/package-name.ts'
import { type Credential, type Narrowing, type Scope, type TokenAction, tokenActions } from './roles.ts'

/** The limits of a token in addition to its scopes, as stored: lists separated by commas, null for no limit. */
export type StoredLimits = { actions: string | null; packages: string | null; addresses: string | null }

/** Returns the limits of a token as members of its credential. They are parsed once per stored row. */
export function limitsOf({
  actions,
  packages,
  addresses,
  scopes,
}: StoredLimits & { scopes: string }): Pick<Credential, 'narrowing' | 'addresses'> {
  const ranges = addresses?.split(',').flatMap((text) => parseRange(text) ?? [])
  if (actions === null && packages === null) return { narrowing: undefined, addresses: ranges }
  const allowed = (actions?.split(',') ?? actionsOf(scopes.split(',') as Scope[])) as TokenAction[]
  return { narrowing: { actions: new Set(allowed), ...packageTest(packages) }, addresses: ranges }
}

/** Returns the actions that the scopes of a token allow. */
export const actionsOf = (scopes: readonly Scope[]): readonly TokenAction[] =>
  scopes.some((scope) => scope !== 'read') ? tokenActions : ['read']

function packageTest(packages: string | null): Pick<Narrowing, 'covers' | 'explain'> {
  if (packages === null) return { covers: null }
  const names = new Set(packages.split(','))
  const patterns = [...names].filter((text) => text.includes('*')).map(patternTest)
  return {
    covers: (_action, name) => names.has(name) || patterns.some((matches) => matches(name)),
    explain: (_action, name) =>
      `This access token does not cover the package ${name}. It is limited to: ${packages.replaceAll(',', ', ')}.`,
  }
}

/** Returns whether one of the ranges contains the address of a client. Remembers the last address that they contained, since clients repeat requests. */
export function containAddress(ranges: readonly AddressRange[], client: string): boolean {
  if (latestClients.get(ranges) === client) return true
  const address = parseAddress(client)
  if (address === null || !ranges.some((range) => isInRange(range, address))) return false
  latestClients.set(ranges, client)
  return true
}

const latestClients = new WeakMap<readonly AddressRange[], string>()
