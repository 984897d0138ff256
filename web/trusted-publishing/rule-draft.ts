import type { TokenIssuerPreset, TrustedPublisherRowFragment } from '../generated/graphql.ts'
import { presets } from './presets.ts'

/** The input of the form for a rule. Empty texts allow any value. */
export interface RuleDraft {
  issuerId: string
  repository: string
  tagPattern: string
  use: 'publish' | 'read'
  workflow: string
  environment: string
  events: string
  claims: { claim: string; pattern: string }[]
  label: string
}

export const tagExamples = { single: 'v{{version}}', several: '{{name}}-v{{version}}' }

/** Returns the input of the form for an existing rule, or the defaults of a new one. A publisher has several packages, so its tags name them. */
export function draftOf(rule: TrustedPublisherRowFragment | undefined, issuerId: string, isOfPublisher: boolean): RuleDraft {
  return {
    issuerId: rule?.issuer.id ?? issuerId,
    repository: rule?.repository ?? '',
    tagPattern: rule ? (rule.tagPattern ?? '') : isOfPublisher ? tagExamples.several : tagExamples.single,
    use: rule?.isReadOnly ? 'read' : 'publish',
    workflow: rule?.workflow ?? '',
    environment: rule?.environment ?? '',
    events: rule?.events.join(', ') ?? '',
    claims: rule?.claims.map(({ claim, pattern }) => ({ claim, pattern })) ?? [],
    label: rule?.label ?? '',
  }
}

/** Returns the members of a rule for the server, without the members that the CI system does not know. */
export function ruleOf(draft: RuleDraft, preset: TokenIssuerPreset) {
  const fields = presets[preset]
  const isReadOnly = draft.use === 'read'
  const given = (text: string, isKnown = true) => (isKnown && text.trim() ? text.trim() : null)
  return {
    tokenIssuerId: draft.issuerId,
    label: given(draft.label),
    repository: given(draft.repository),
    tagPattern: given(draft.tagPattern, fields.hasTags && !isReadOnly),
    isReadOnly,
    workflow: given(draft.workflow, fields.workflow !== undefined),
    environment: given(draft.environment, fields.environment !== undefined),
    events: fields.events ? draft.events.split(/[\s,;]+/).filter(Boolean) : [],
    claims: draft.claims
      .filter(({ claim }) => claim.trim())
      .map(({ claim, pattern }) => ({ claim: claim.trim(), pattern: pattern.trim() })),
  }
}
