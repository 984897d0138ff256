import type { ScorePointsFragment, ScoreSectionStatus, ScoreStateFragment, ScoreStatus } from '../generated/graphql.ts'
import { count } from '../shared/format.ts'

/** What the states of an analysis are called. */
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

/** How a part of the points turned out. */
export function outcomeOf(granted: number, maximum: number): ScoreSectionStatus {
  if (maximum === 0) return 'NOT_MEASURED'
  return granted >= maximum ? 'PASSED' : granted > 0 ? 'PARTIAL' : 'FAILED'
}

/** The color of a share of the points, as on badges. */
export const scoreColor = (percent: number) => (percent >= 80 ? 'text-success' : percent >= 50 ? 'text-warning' : 'text-error')

/** "120 of 140 points"; undefined before there are some. */
export const pointsText = ({ grantedPoints, maxPoints }: Pick<ScorePointsFragment, 'grantedPoints' | 'maxPoints'>) =>
  grantedPoints == null || maxPoints == null ? undefined : `${count(grantedPoints)} of ${count(maxPoints)} points`

/** What analyzed a version, as in "Analyzed by pana 0.22.3". */
export function engineText({ engine, engineVersion }: Pick<ScoreStateFragment, 'engine' | 'engineVersion'>): string {
  const name = engine === 'built-in' ? 'the built-in engine' : (engine ?? 'an unknown engine')
  return engineVersion ? `${name} ${engineVersion}` : name
}

const underWay: ReadonlySet<string> = new Set(['PENDING', 'RUNNING'])
/** Whether the state is about to change by itself. */
export const isUnderWay = (state: string) => underWay.has(state)
