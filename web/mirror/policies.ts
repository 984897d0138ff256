import { computed } from 'vue'
import {
  MirrorDecisionsDocument,
  type MirrorOutcome,
  MirrorPoliciesDocument,
  type MirrorPoliciesQuery,
  type MirrorPoliciesStateFragment,
  type MirrorPolicyMode,
  UpdateMirrorPoliciesDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useCursorList, withRows } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

export type Policies = MirrorPoliciesStateFragment
export type Rule = 'minimumAge' | 'packages' | 'advisories' | 'licenses'
type Effect = NonNullable<MirrorPoliciesQuery['mirrorPolicyEffects']>[number]

export const ruleNames: Record<Rule, string> = {
  minimumAge: 'Minimum age',
  packages: 'Packages',
  advisories: 'Security advisories',
  licenses: 'Licenses',
}

const faultNames: Record<string, string> = {
  archive: 'Archive',
  listing: 'Listing',
  document: 'Other document',
  changed_archive: 'Replaced archive',
}

/** Returns the name of a policy or of a kind of fault for display. */
export const ruleName = (rule: string): string => (ruleNames as Partial<Record<string, string>>)[rule] ?? faultNames[rule] ?? rule

export const outcomes = {
  REFUSED: { label: 'Refused', color: 'error', icon: 'i-lucide-ban' },
  AUDITED: { label: 'Would be refused', color: 'neutral', icon: 'i-lucide-eye' },
  FAULT: { label: 'Fault', color: 'warning', icon: 'i-lucide-triangle-alert' },
} as const satisfies Record<MirrorOutcome, object>

export const modes: { value: MirrorPolicyMode; label: string }[] = [
  { value: 'OFF', label: 'Off' },
  { value: 'AUDIT', label: 'Audit' },
  { value: 'ENFORCE', label: 'Enforce' },
]

/** Returns the policies of the mirror, and what they did in the last 30 days. */
export function usePolicies() {
  const { data, ...state } = useQuery(MirrorPoliciesDocument)
  const effects = computed(() => data.value?.mirrorPolicyEffects ?? [])
  const effectOf = (rule: Rule, outcome: MirrorOutcome): Effect | undefined =>
    effects.value.find((one) => one.rule === rule && one.outcome === outcome)
  return { ...state, policies: computed(() => data.value?.mirrorPolicies ?? undefined), effectOf }
}

export const useUpdatePolicies = () => useMutation(UpdateMirrorPoliciesDocument)

/** Returns a page of the decisions, filtered by the URL parameters `q`, `rule` and `outcome`. */
export function useDecisions() {
  const resets = ['after']
  const q = useQueryParam<string>('q', '', { resets, replace: true })
  const rule = useQueryParam<string>('rule', 'any', { resets })
  const outcome = useQueryParam<MirrorOutcome | 'any'>('outcome', 'any', { allowed: ['any', 'REFUSED', 'AUDITED', 'FAULT'], resets })
  const { list } = useCursorList({
    document: MirrorDecisionsDocument,
    variables: (after) => ({
      q: q.value || null,
      rule: rule.value === 'any' ? null : rule.value,
      outcome: outcome.value === 'any' ? null : outcome.value,
      after,
    }),
    connection: (data) => withRows(data.mirrorDecisions, (nodes) => nodes.map((node) => ({ ...node, id: node.uuid }))),
  })
  return { list, q, rule, outcome, isFiltered: computed(() => q.value !== '' || rule.value !== 'any' || outcome.value !== 'any') }
}

/** Returns a copy of the policies without the revision and `__typename`, as the mutation takes them. */
export function draftOf({ minimumAge, packages, advisories, licenses }: Policies) {
  const selectors = (list: Policies['packages']['allow']) => list.map(({ name, publisher, versions }) => ({ name, publisher, versions }))
  return {
    minimumAge: pick(minimumAge, ['mode', 'days', 'hide', 'exempt', 'exemptFixes']),
    packages: { mode: packages.mode, allow: selectors(packages.allow), deny: selectors(packages.deny) },
    advisories: pick(advisories, ['mode', 'severity', 'unknownAs']),
    licenses: pick(licenses, ['mode', 'allow', 'deny']),
  }
}
export type Draft = ReturnType<typeof draftOf>

/** Copies fields; lists are copied too, because the form edits them. */
function pick<Value extends object, Key extends keyof Value>(value: Value, keys: readonly Key[]): Pick<Value, Key> {
  return structuredClone(Object.fromEntries(keys.map((key) => [key, value[key]]))) as Pick<Value, Key>
}

/** Returns a copy of a draft without spaces around its texts. */
export function cleaned(draft: Draft): Draft {
  const texts = (list: readonly string[]) => list.map((text) => text.trim())
  const textOf = (text: string | null | undefined) => text?.trim() || null
  const selectors = (list: Draft['packages']['allow']) =>
    list.map(({ name, publisher, versions }) => ({ name: textOf(name), publisher: textOf(publisher), versions: textOf(versions) }))
  const { minimumAge, packages, advisories, licenses } = draft
  return {
    minimumAge: { ...minimumAge, exempt: texts(minimumAge.exempt) },
    packages: { ...packages, allow: selectors(packages.allow), deny: selectors(packages.deny) },
    advisories,
    licenses: { ...licenses, allow: texts(licenses.allow), deny: texts(licenses.deny) },
  }
}
