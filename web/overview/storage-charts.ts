import type { Statistics } from './overview.ts'

const dayMs = 86_400_000
/** Days that a forecast is drawn ahead. */
const daysAhead = 30

type Sample = Statistics['diskSamples'][number]

/** Returns the daily samples, with the current sizes as the last one. */
export function withToday({ diskSamples, disk, freeBytes }: Statistics, now: Date): Sample[] {
  const today = new Date(Math.floor(now.getTime() / dayMs) * dayMs).toISOString()
  const { archives, docs, database } = disk
  const current = { day: today, archives: archives.bytes, docs: docs.bytes, database: database.bytes, free: freeBytes }
  return [...diskSamples.filter(({ day }) => day < today), current]
}

const number = (value: number | null | undefined) => value ?? null

/** Returns the stacked sizes by kind of data. */
export const sizeSeries = (samples: readonly Sample[]) => [
  { name: 'Archives', values: samples.map(({ archives }) => number(archives)) },
  { name: 'Documentation', values: samples.map(({ docs }) => number(docs)) },
  { name: 'Database', values: samples.map(({ database }) => number(database)) },
]

/**
 * Returns the free space, and its forecast: a straight line from the last value to the day when the space is used up, cut off after a month.
 * `lowAt` is that day, or null if the space does not fall.
 */
export function freeSeries(samples: readonly Sample[], lowAt: string | null | undefined) {
  const times = samples.map(({ day }) => day)
  const free = samples.map((sample) => number(sample.free))
  const last = samples.at(-1)
  if (!last || last.free == null || lowAt == null) return { times, series: [{ name: 'Free', values: free }] }
  const [from, value] = [Date.parse(last.day), last.free]
  const until = Math.max(Date.parse(lowAt) - from, dayMs)
  const ahead = Array.from({ length: daysAhead }, (_, day) => (day + 1) * dayMs).filter((ms) => ms <= until)
  return {
    times: [...times, ...ahead.map((ms) => new Date(from + ms).toISOString())],
    series: [
      { name: 'Free', values: [...free, ...ahead.map(() => null)] },
      {
        name: 'Forecast',
        values: [...free.slice(0, -1).map(() => null), value, ...ahead.map((ms) => Math.round(value * (1 - ms / until)))],
        dashed: true,
        neutral: true,
      },
    ],
  }
}
