import type { ScoredVersionFragment } from '../generated/graphql.ts'
import { counted } from '../shared/format.ts'
import { saveFile } from '../shared/save-file.ts'
import { scoreStates } from './score-labels.ts'

type Points = { grantedPoints: number; maxPoints: number; percent: number }
/** A version with its score and the change since the previous version that has a score. */
export interface HistoryRow {
  id: string
  version: string
  publishedAt: string
  score: ScoredVersionFragment['score']
  points: Points | undefined
  change?: { amount: number; text: string; since: string; isNext: boolean } | undefined
}

/** Compares each version with the previous version that has a score. Expects and returns the newest version first. */
export function historyOf(versions: readonly ScoredVersionFragment[]): HistoryRow[] {
  const rows = versions.map((version): HistoryRow => ({ ...version, points: pointsOf(version) }))
  for (const [index, row] of rows.entries()) {
    const before = rows.findIndex(({ points }, at) => at > index && points)
    const other = rows[before]
    if (row.points && other?.points)
      row.change = { ...differenceOf(row.points, other.points), since: other.version, isNext: before === index + 1 }
  }
  return rows
}

function pointsOf({ score: { grantedPoints, maxPoints, percent } }: ScoredVersionFragment): Points | undefined {
  return grantedPoints == null || maxPoints == null || percent == null ? undefined : { grantedPoints, maxPoints, percent }
}

/** Returns the difference in points, or in percentage points if the maximum differs, for example because the engine changed. */
function differenceOf(now: Points, before: Points) {
  const isSame = now.maxPoints === before.maxPoints
  const amount = isSame ? now.grantedPoints - before.grantedPoints : now.percent - before.percent
  if (amount === 0) return { amount, text: 'No change' }
  return { amount, text: `${amount > 0 ? '+' : '−'}${counted(Math.abs(amount), isSame ? 'point' : 'percentage point')}` }
}

/** Summarizes the course of the score in a sentence. */
export function summaryOf(rows: readonly HistoryRow[]): string {
  const scored = rows.filter((row): row is HistoryRow & { points: Points } => row.points !== undefined)
  const [last, first] = [scored[0], scored.at(-1)]
  if (!last || !first) return 'None of these versions has a score.'
  if (last === first) return `Only ${last.version} has a score: ${last.points.percent}%.`
  const best = scored.reduce((found, row) => (row.points.percent > found.points.percent ? row : found))
  const course = `From ${first.points.percent}% (${first.version}) to ${last.points.percent}% (${last.version})`
  return best === last || best === first ? `${course}.` : `${course}; the highest is ${best.points.percent}% (${best.version}).`
}

/** Downloads the history as a CSV file. */
export function saveHistory(name: string, rows: readonly HistoryRow[]) {
  const lines = rows.map(({ version, publishedAt, score, points }) => {
    const { grantedPoints = '', maxPoints = '', percent = '' } = points ?? {}
    return [version, publishedAt, scoreStates[score.status].label, grantedPoints, maxPoints, percent].join(',')
  })
  const text = ['version,published,status,points,maximum,percent', ...lines, ''].join('\r\n')
  saveFile(new Blob([text], { type: 'text/csv' }), `${name}-scores.csv`)
}
