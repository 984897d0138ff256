/** A series of a time chart. */
export interface ChartSeries {
  name: string
  /** One value for each time of the chart; null where there is no value. */
  values: readonly (number | null)[]
  /** Draws a line that is not part of the stack, for example a limit or the sum of something else. */
  line?: boolean
  /** Dashes the line, for example for a forecast. */
  dashed?: boolean
  /** Uses the neutral color, for example for "Other". */
  neutral?: boolean
}

export interface ColoredSeries extends ChartSeries {
  /** Name of the CSS custom property of its color, for example `--chart-1`. */
  color: string
  hidden: boolean
}

/** What a chart of times shows. The properties of time-chart.vue describe each. */
export interface ChartShape {
  kind: 'areas' | 'bars' | 'lines'
  stacked: boolean
  period: 'day' | 'week'
  /** Whether the axis has steps of whole numbers. */
  whole: boolean
  format: (value: number) => string
}

const colors = 7

/** Assigns a color to each series. The colors repeat after seven series. */
export function withColors(series: readonly ChartSeries[], hidden: ReadonlySet<string>): ColoredSeries[] {
  let next = 0
  return series.map((one) => ({
    ...one,
    hidden: hidden.has(one.name),
    color: one.neutral ? '--chart-neutral' : `--chart-${(next++ % colors) + 1}`,
  }))
}

/** Returns the tops of stacked series, the last series at the bottom. Lines and hidden series are not stacked. */
export function stackedValues(series: readonly ColoredSeries[]): (number | null)[][] {
  const below: number[] = []
  return series
    .toReversed()
    .map(({ values, line, hidden }) =>
      line || hidden ? [...values] : values.map((value, index) => (below[index] = (below[index] ?? 0) + (value ?? 0))),
    )
    .toReversed()
}

/** Returns the series in the order in which they are drawn: the lower parts of a stack cover the higher ones, and lines cover both. */
export const sortForDrawing = (series: readonly ColoredSeries[]) =>
  series.toSorted((a, b) => Number(a.line ?? false) - Number(b.line ?? false))

/** Returns the sum of all stacked series at a time. */
export const sumAt = (series: readonly ChartSeries[], index: number) =>
  series.reduce((sum, { values, line }) => sum + (line ? 0 : (values[index] ?? 0)), 0)

const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' })

/** Formats the UTC day of a time: "Jan 31, 2026". */
export const chartDay = (time: Date) => day.format(time)

export const periodLabel = (period: ChartShape['period']) => (period === 'week' ? 'Week from' : 'Day')

/** Describes the values at a time in a sentence for screen readers. */
export function valuesText(series: readonly ColoredSeries[], index: number, { format, stacked }: ChartShape): string {
  const shown = series.filter(({ hidden }) => !hidden)
  const parts = shown.flatMap(({ name, values }) => (values[index] ? [`${name}: ${format(values[index])}`] : []))
  const total = stacked && shown.length > 1 ? [`Total: ${format(sumAt(shown, index))}`] : []
  return [...total, ...(parts.length ? parts : ['No values'])].join(', ')
}

/** Summarizes a chart: its period, and the total and maximum, or for levels the latest value. */
export function chartSummary(times: readonly Date[], series: readonly ChartSeries[], shape: ChartShape, isLevel: boolean): string {
  const [first, last] = [times[0], times.at(-1)]
  if (!first || !last) return 'No values.'
  const sums = times.map((_, index) => sumAt(series, index))
  const range = `${chartDay(first)} to ${chartDay(last)}`
  const best = sums.reduce((found, sum, index) => (sum > (sums[found] ?? 0) ? index : found), 0)
  const maximum = `the highest ${shape.period} was ${chartDay(times[best] ?? first)} with ${shape.format(sums[best] ?? 0)}`
  if (isLevel || !shape.stacked) {
    const latest = series.flatMap(({ name, values }) => {
      const value = values.findLast((one) => one !== null)
      return value == null ? [] : [`${name}: ${shape.format(value)}`]
    })
    return `${range}. Latest values: ${latest.join(', ') || 'none'}.`
  }
  const total = sums.reduce((sum, one) => sum + one, 0)
  return total === 0 ? `${range}: none.` : `${range}: ${shape.format(total)} in total; ${maximum}.`
}

/** Returns the values as CSV with a header, times as ISO days. */
export function chartCsv(times: readonly Date[], series: readonly ChartSeries[], period: ChartShape['period']): string {
  const header = [period, ...series.map(({ name }) => name)]
  const rows = times.map((time, index) => [time.toISOString().slice(0, 10), ...series.map(({ values }) => String(values[index] ?? ''))])
  return [header, ...rows].map((cells) => `${cells.map(quoted).join(',')}\r\n`).join('')
}

const quoted = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

const daySeconds = 86_400
/** Longer periods have labels at the starts of months. */
const maxDaysOfDayLabels = 62

/** Returns at most `most` times in seconds to label on the axis: starts of months, or days of a short period. */
export function timeTicks(min: number, max: number, most: number): number[] {
  const limit = Math.max(2, most)
  const days = (max - min) / daySeconds
  if (days <= maxDaysOfDayLabels) {
    const step = [1, 2, 7, 14, 28].find((one) => days / one < limit) ?? maxDaysOfDayLabels
    const first = Math.ceil(min / daySeconds)
    return Array.from({ length: Math.floor((max / daySeconds - first) / step) + 1 }, (_, index) => (first + index * step) * daySeconds)
  }
  const start = new Date(min * 1000)
  const from = start.getUTCFullYear() * 12 + start.getUTCMonth()
  const months = Array.from({ length: Math.ceil(days / 28) + 1 }, (_, index) => from + index)
  const step = [1, 2, 3, 6, 12, 24, 60].find((one) => months.length / one <= limit) ?? 120
  return months
    .filter((month) => month % step === 0)
    .map((month) => Date.UTC(Math.floor(month / 12), month % 12) / 1000)
    .filter((seconds) => seconds >= min && seconds <= max)
}

const monthName = new Intl.DateTimeFormat('en', { month: 'short', timeZone: 'UTC' })
const monthAndDay = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })

/** Labels times of an axis with months or days. The first label, and the first one of each year, also name the year. */
export function timeLabels(seconds: readonly number[]): string[] {
  const times = seconds.map((one) => new Date(one * 1000))
  const name = times.every((time) => time.getUTCDate() === 1) ? monthName : monthAndDay
  return times.map((time, index) => {
    const year = time.getUTCFullYear()
    return year === times[index - 1]?.getUTCFullYear() ? name.format(time) : `${name.format(time)}\n${year}`
  })
}
