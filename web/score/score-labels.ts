import type { ScorePointsFragment, ScoreSectionStatus, ScoreStateFragment, ScoreStatus } from '../generated/graphql.ts'
import { count } from '../shared/format.ts'

/** Labels of the states of an analysis. */
export const scoreStates: Record<ScoreStatus, { label: string; icon: string }> = {
  COMPLETED: { label: 'Analyzed', icon: 'i-lucide-circle-check' },
  PENDING: { label: 'Waiting', icon: 'i-lucide-clock-3' },
  RUNNING: { label: 'Analyzing', icon: 'i-lucide-loader' },
  FAILED: { label: 'Analysis failed', icon: 'i-lucide-triangle-alert' },
  NOT_ANALYZED: { label: 'Not analyzed', icon: 'i-lucide-circle-dashed' },
  DISABLED: { label: 'Scoring is off', icon: 'i-lucide-circle-off' },
}

export const sectionStates: Record<ScoreSectionStatus, { label: string; icon: string; color: string }> = {
  PASSED: { label: 'All points', icon: 'i-lucide-circle-check', color: 'text-success' },
  PARTIAL: { label: 'Some points', icon: 'i-lucide-circle-dot', color: 'text-warning' },
  FAILED: { label: 'No points', icon: 'i-lucide-circle-x', color: 'text-error' },
  NOT_MEASURED: { label: 'Not measured', icon: 'i-lucide-circle-dashed', color: 'text-muted' },
}

/** Returns the status for a number of granted points. */
export function outcomeOf(granted: number, maximum: number): ScoreSectionStatus {
  if (maximum === 0) return 'NOT_MEASURED'
  return granted >= maximum ? 'PASSED' : granted > 0 ? 'PARTIAL' : 'FAILED'
}

/** Whether a check is passed. It grants all points or none. */
export const isPassed = ({ grantedPoints, maxPoints }: { grantedPoints: number; maxPoints: number }) => grantedPoints === maxPoints

/** Returns the color for a percentage of checks or points. The thresholds are the same as on badges. */
export const scoreColor = (percent: number) => (percent >= 80 ? 'text-success' : percent >= 50 ? 'text-warning' : 'text-error')

/** Formats passed checks: "8 of 10 checks". Returns undefined before the first analysis. */
export const checksText = ({ passedChecks, totalChecks }: Pick<ScorePointsFragment, 'passedChecks' | 'totalChecks'>) =>
  passedChecks == null ? undefined : `${passedChecks} of ${totalChecks} checks`

/** Formats points of pana: "120 of 160 points". Returns undefined before the first analysis. */
export const pointsText = ({ grantedPoints, maxPoints }: Pick<ScorePointsFragment, 'grantedPoints' | 'maxPoints'>) =>
  grantedPoints == null || maxPoints == null ? undefined : `${count(grantedPoints)} of ${count(maxPoints)} points`

/** Returns the name and version of the analysis engine, as in "Analyzed by pana 0.22.3". */
export function engineText({ engine, engineVersion }: Pick<ScoreStateFragment, 'engine' | 'engineVersion'>): string {
  const name = engine === 'built-in' ? 'the built-in engine' : (engine ?? 'an unknown engine')
  return engineVersion ? `${name} ${engineVersion}` : name
}

const inProgress: ReadonlySet<string> = new Set(['PENDING', 'RUNNING'])
/** Whether the state is pending or running, and so will change without user action. */
export const isBeingScored = (state: string) => inProgress.has(state)
