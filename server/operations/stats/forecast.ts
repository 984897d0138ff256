import type { Services } from '../../services.ts'
import { dailySamples, type Sample } from './samples.ts'

const [trendDays, fewestSamples, dayMs] = [30, 7, 86_400_000]
/** Later dates are not reported, because the trend of a month cannot predict the years after it. */
const furthestDays = 730

/**
 * Returns when the free space falls below `reserve` bytes if it keeps falling as on the given days (least squares). Returns null if there are fewer
 * than seven samples, if the space does not fall, or if that is more than two years away.
 */
export function forecastLowSpace(samples: readonly Pick<Sample, 'day' | 'free'>[], reserve: number): Date | null {
  const points = samples.flatMap(({ day, free }) => (free === null ? [] : [{ x: day.getTime() / dayMs, y: free }]))
  const last = points.at(-1)
  if (!last || points.length < fewestSamples) return null
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map((point) => point.x)), mean(points.map((point) => point.y))]
  const slope = mean(points.map((point) => (point.x - x) * (point.y - y))) / mean(points.map((point) => (point.x - x) ** 2))
  const days = (last.y - reserve) / -slope
  return slope < 0 && days <= furthestDays ? new Date((last.x + Math.max(days, 0)) * dayMs) : null
}

/** Returns when the free space falls below MIN_FREE_BYTES if the trend of the last 30 days continues, or null (see `forecastLowSpace`). */
export const lowSpaceAt = async (reader: Pick<Services, 'database' | 'now' | 'config'>): Promise<Date | null> =>
  forecastLowSpace(await dailySamples(reader, trendDays), reader.config.MIN_FREE_BYTES)
