export interface Week {
  start: string
  downloads: number
}

const [width, height] = [240, 48]

/** Returns the SVG paths of a chart of weekly downloads in a box of 240 × 48, scaled to the maximum. */
export function sparkline(weeks: readonly Week[]) {
  const max = Math.max(1, ...weeks.map(({ downloads }) => downloads))
  const points = weeks.map(({ downloads }, index) => ({
    x: round((index / Math.max(1, weeks.length - 1)) * width),
    y: round(height - 2 - (downloads / max) * (height - 4)),
  }))
  const line = points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${x} ${y}`).join('')
  return { width, height, line, area: `${line}L${width} ${height}L0 ${height}Z`, last: points.at(-1) }
}

const round = (value: number) => Math.round(value * 10) / 10

/** Summarizes the chart in a sentence: the total and the best week. */
export function summary(weeks: readonly Week[], day: (moment: Date) => string, count: (amount: number) => string): string {
  const total = weeks.reduce((sum, { downloads }) => sum + downloads, 0)
  const best = weeks.reduce<Week | undefined>((found, week) => (found && found.downloads >= week.downloads ? found : week), undefined)
  if (total === 0 || !best) return 'No downloads in the last 52 weeks.'
  return `${count(total)} in the last 52 weeks; the best week, from ${day(new Date(best.start))}, had ${count(best.downloads)}.`
}
