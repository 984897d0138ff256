import type { ScoredVersionFragment } from '../generated/graphql.ts'
import { counted } from '../shared/format.ts'
import { saveFile } from '../shared/save-file.ts'
import { scoreStates } from './score-labels.ts'

/** A version with its score and the change since the previous version that has a score. */
export interface HistoryRow {
  id: string
  version: string
  publishedAt: string
  score: ScoredVersionFragment['score']
  passed: number | undefined
  change?: { amount: number; text: string; since: string; isNext: boolean } | undefined
}

/** Compares each version with the previous version that has a score. Expects and returns the newest version first. */
export function historyOf(versions: readonly ScoredVersionFragment[]): HistoryRow[] {
  const rows = versions.map((version): HistoryRow => ({ ...version, passed: version.score.passedChecks ?? undefined }))
  for (const [index, row] of rows.entries()) {
    const before = rows.findIndex(({ passed }, at) => at > index && passed !== undefined)
    const other = rows[before]
    if (row.passed !== undefined && other?.passed !== undefined)
      row.change = { ...differenceOf(row.passed, other.passed), since: other.version, isNext: before === index + 1 }
  }
  return rows
}

function differenceOf(now: number, before: number) {
  const amount = now - before
  return { amount, text: amount === 0 ? 'No change' : `${amount > 0 ? '+' : '−'}${counted(Math.abs(amount), 'check')}` }
}

/** Summarizes the course of the score in a sentence. */
export function summaryOf(rows: readonly HistoryRow[]): string {
  const scored = rows.flatMap(({ version, passed }) => (passed === undefined ? [] : [{ version, passed }]))
  const [last, first] = [scored[0], scored.at(-1)]
  if (!last || !first) return 'None of these versions has a score.'
  if (last === first) return `Only ${last.version} has a score: ${counted(last.passed, 'check')} passed.`
  const best = scored.reduce((found, row) => (row.passed > found.passed ? row : found))
  const course = `From ${first.passed} (${first.version}) to ${counted(last.passed, 'passed check')} (${last.version})`
  return best === last || best === first ? `${course}.` : `${course}; the highest is ${best.passed} (${best.version}).`
}

/** Downloads the history as a CSV file. */
export function saveHistory(name: string, rows: readonly HistoryRow[]) {
  const lines = rows.map(({ version, publishedAt, score, passed }) =>
    [version, publishedAt, scoreStates[score.status].label, passed ?? '', score.totalChecks].join(','),
  )
  const text = ['version,published,status,passed,checks', ...lines, ''].join('\r\n')
  saveFile(new Blob([text], { type: 'text/csv' }), `${name}-scores.csv`)
}
