import { z } from 'zod'
import type { Setting } from '../../../platform/settings/service.ts'
import { severities } from '../../advisories/severity.ts'

/** `audit` records what the policy would refuse, and `enforce` refuses it. */
const mode = z.enum(['off', 'audit', 'enforce'])
export type PolicyMode = z.infer<typeof mode>

/** Selects upstream packages: all given parts must match. `name` may contain `*`; `versions` is a version constraint. */
const selector = z.object({ name: z.string().nullable(), publisher: z.string().nullable(), versions: z.string().nullable() })
export type Selector = z.infer<typeof selector>

/** Returns a selector as a text, such as `acme_* of acme.example, versions <2.0.0`. */
export const describeSelector = ({ name, publisher, versions }: Selector): string =>
  [`${name ?? '*'}${publisher === null ? '' : ` of ${publisher}`}`, ...(versions === null ? [] : [`versions ${versions}`])].join(', ')

/** The rules in the order in which they are reported. */
export const policyRules = ['packages', 'advisories', 'licenses', 'minimumAge'] as const
export type PolicyRule = (typeof policyRules)[number]

/** Exempts a package, or one version of it, from a rule until a time; null: until the exemption is removed. `userId`: who added it. */
const exemption = z.object({
  id: z.string(),
  rule: z.enum(policyRules),
  name: z.string(),
  version: z.string().nullable(),
  reason: z.string(),
  until: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
  userId: z.string(),
})
export type Exemption = z.infer<typeof exemption>

/** Whether an exemption has not expired. */
export const isInEffect = ({ until }: Exemption, now: Date): boolean => until === null || Date.parse(until) > now.getTime()

const schema = z.object({
  /** Increases with every change of a rule, but not of exemptions. */
  revision: z.int(),
  minimumAge: z.object({
    mode,
    days: z.int(),
    /** Whether younger versions are hidden rather than marked as retracted. */
    hide: z.boolean(),
    /** Names, which may contain `*`, to which the rule does not apply. */
    exempt: z.array(z.string()),
    /** Whether versions that fix a published advisory are exempt. */
    exemptFixes: z.boolean(),
  }),
  /** Denied packages, and if `allow` is not empty, the only allowed ones. */
  packages: z.object({ mode, allow: z.array(selector), deny: z.array(selector) }),
  /** Rejects versions with an advisory of at least this severity. Advisories without a severity count as `unknownAs`. */
  advisories: z.object({ mode, severity: z.enum(severities), unknownAs: z.enum(severities) }),
  /** SPDX identifiers in lower case, as in upstream tags of the latest version. If `allow` is not empty, only these are allowed. */
  licenses: z.object({ mode, allow: z.array(z.string()), deny: z.array(z.string()) }),
  exemptions: z.array(exemption).default([]),
})

/** The policies of the mirror. */
export type MirrorPolicies = z.infer<typeof schema>

export const mirrorPolicies: Setting<MirrorPolicies> = {
  key: 'mirror_policies',
  schema,
  initial: {
    revision: 0,
    minimumAge: { mode: 'off', days: 7, hide: false, exempt: [], exemptFixes: true },
    packages: { mode: 'off', allow: [], deny: [] },
    advisories: { mode: 'off', severity: 'high', unknownAs: 'moderate' },
    licenses: { mode: 'off', allow: [], deny: [] },
    exemptions: [],
  },
}
