/** Row of the results. Rows without a bound are informational. */
export type Row = {
  what: string
  snug: string
  baseline: string
  ratio: number
  bound: { atLeast: number } | { atMost: number } | null
  cpu: string
}

/** Reports whether a row is within its bound. */
export function holds({ ratio, bound }: Row): boolean {
  if (bound === null) return true
  return 'atLeast' in bound ? ratio >= bound.atLeast : ratio <= bound.atMost
}

/** Renders the rows as a text table. */
export function renderTable(rows: Row[]): string {
  const head = ['', 'Snug', 'baseline', 'ratio', 'bound', 'CPU µs/request: Snug, baseline', '']
  const lines = [head, ...rows.map(cells)]
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) => line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '))
    .join('\n')
}

function cells(row: Row): string[] {
  const { what, snug, baseline, ratio, bound, cpu } = row
  const limit = bound === null ? '–' : 'atLeast' in bound ? `≥ ${bound.atLeast}` : `≤ ${bound.atMost}`
  return [
    what,
    snug,
    baseline,
    ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(2),
    limit,
    cpu,
    bound === null ? '' : holds(row) ? 'ok' : 'MISSED',
  ]
}
