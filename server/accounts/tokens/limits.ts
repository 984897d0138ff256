import { z } from 'zod'
import { invalidInput } from '../../errors.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import type { Credential, Role, Scope, TokenAction } from '../../platform/access/roles.ts'
import { actionsOf, type StoredLimits } from '../../platform/access/token-limits.ts'
import { formatRange, parseRange, containsRange } from '../../platform/http/client-address.ts'
import { requireRecentProof } from '../../platform/access/guards.ts'
import { grantableScopes, needsProof } from './policy.ts'

/** The limits of a new token, in addition to its scopes. Null or undefined: no limit. */
export type LimitsInput = {
  packages?: readonly string[] | null | undefined
  actions?: readonly TokenAction[] | null | undefined
  addresses?: readonly string[] | null | undefined
}

const distinct = (values: z.ZodArray) =>
  values.refine((all) => new Set(all).size === all.length, {
    error: ({ input }) => `contains ${JSON.stringify((input as unknown[]).find((value, at, all) => all.indexOf(value) !== at))} twice`,
  })

const list = (max: number, noun: string, isValid: (text: string) => boolean, rule: string) =>
  distinct(
    z
      .array(z.string().trim())
      .min(1, `must contain at least one ${noun}, or be left out`)
      .max(max, `must contain at most ${max} entries`)
      .refine((texts) => texts.every(isValid), {
        error: ({ input }) => `${JSON.stringify((input as string[]).find((text) => !isValid(text)))} is not ${rule}`,
      }),
  ).nullish()

/** Packages of the mirror can have capitals and start with an underscore. A pattern contains a part of a name, or it would not limit anything. */
const isPackagePattern = (text: string): boolean => /^[A-Za-z_*][A-Za-z0-9_*]{0,63}$/.test(text) && /\w/.test(text) && !text.includes('**')
const isRange = (text: string): boolean => parseRange(text) !== null

export const packagesInput = list(100, 'package', isPackagePattern, 'the name of a package, or a part of one with * for any characters')
export const addressesInput = list(50, 'address', isRange, 'an IP address, or a range such as 10.0.0.0/8')
export const actionsInput = distinct(z.array(z.string()).min(1, 'must contain at least one action, or be left out')).nullish()

/**
 * Returns the scopes of a new token: the wanted ones, limited to what the role of the owner and the creating token allow. By default the scopes that its actions need.
 * @throws ApiError InvalidInput for an empty list, and for scopes and limits that contradict each other; InsufficientPermissions for the scope admin in
 * a session without recent proof.
 */
export function scopesOfToken(
  context: SignedInContext,
  role: Role,
  wanted: readonly Scope[] | null | undefined,
  limits: LimitsInput,
): Scope[] {
  const { credential } = context
  if (wanted?.includes('admin') && (limits.actions || limits.packages))
    throw invalidInput('scopes: admin cannot be combined with actions or packages.', 'scopes')
  const isReadOnly = limits.actions?.every((action) => action === 'read')
  const granted = grantableScopes(isReadOnly ? ['read'] : (wanted ?? ['read', 'write']), role, credential)
  if (wanted?.length === 0 || granted.length === 0) throw invalidInput('scopes: must contain at least one of read, write, admin.', 'scopes')
  const denied = limits.actions?.find((action) => !actionsOf(granted).includes(action))
  if (denied) throw invalidInput(`actions: ${denied} needs the scope write, which ${reason(wanted, role)}.`, 'actions')
  if (needsProof(granted)) requireRecentProof(context)
  return granted
}

const reason = (wanted: readonly Scope[] | null | undefined, role: Role): string =>
  wanted && !wanted.includes('write')
    ? 'the scopes do not contain'
    : `the role of the account (${role}) or the creating token does not allow`

/** Returns the limits as stored, in their shortest form. @throws ApiError InvalidInput for addresses that the creating token does not work from. */
export function storedLimits({ actions, packages, addresses }: LimitsInput, madeWith: Credential): StoredLimits {
  const stored = (values: Iterable<string> | undefined) => (values ? [...new Set(values)].join(',') : null)
  const ranges = addresses?.map(parseRange).filter((range) => range !== null)
  const outer = madeWith.addresses
  const outside = outer && ranges?.find((range) => !outer.some((one) => containsRange(one, range)))
  if (outside) throw invalidInput(`addresses: the creating token does not work from ${formatRange(outside)}.`, 'addresses')
  return {
    actions: stored(actions ?? undefined),
    packages: stored(packages ?? undefined),
    addresses: stored((ranges ?? outer)?.map(formatRange)),
  }
}
