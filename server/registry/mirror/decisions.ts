import type { Services } from '../../services.ts'

/** A decision of a policy on a request, or a fault of the upstream server. */
export type Decision = {
  outcome: 'refused' | 'audited' | 'fault'
  rule: string
  packageName: string
  /** Empty if the decision concerns the whole package. */
  version: string
  reason: string
  /** Who requested it; null if nobody is signed in, and for faults. */
  userId: string | null
}

declare module '../../services.ts' {
  interface State {
    /** Decisions that are not stored yet. */
    mirrorDecisions?: Decision[]
  }
}

const maxWaiting = 10_000

/** Counts a decision. It is stored with the next batch. */
export function countDecision({ state }: Pick<Services, 'state'>, decision: Decision): void {
  const waiting = (state.mirrorDecisions ??= [])
  if (waiting.length < maxWaiting) waiting.push(decision)
}
