import { expect, it } from 'vitest'
import { timeLabels, timeTicks } from '../../../web/shared/time-chart.ts'

const labels = (from: string, to: string, most: number) => timeLabels(timeTicks(Date.parse(from) / 1000, Date.parse(to) / 1000, most))

it('labels long periods at the starts of months, each once, and as many as fit', () => {
  const year = 'Dec\n2025,Jan\n2026,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov'
  expect(labels('2025-11-24', '2026-11-23', 20).join(',')).toBe(year)
  expect(labels('2025-11-24', '2026-11-23', 5)).toEqual(['Jan\n2026', 'Apr', 'Jul', 'Oct'])
  expect(labels('2026-06-01', '2026-08-24', 5)).toEqual(['Jun\n2026', 'Jul', 'Aug'])
  expect(labels('2019-02-01', '2026-11-23', 5)).toEqual(['Jan\n2020', 'Jan\n2022', 'Jan\n2024', 'Jan\n2026'])
  for (const most of [4, 5, 9, 14])
    for (const days of [1, 6, 30, 61, 63, 92, 183, 366, 1500, 4000]) {
      const to = new Date(Date.UTC(2026, 10, 23) - days * 86_400_000).toISOString()
      expect(labels(to, '2026-11-23', most).length, `${days} days, ${most} labels`).toBeLessThanOrEqual(most)
    }
})

it('labels short periods with days', () => {
  expect(labels('2026-11-18', '2026-11-21', 6)).toEqual(['Nov 18\n2026', 'Nov 19', 'Nov 20', 'Nov 21'])
  expect(labels('2026-11-21', '2026-11-21', 6)).toEqual(['Nov 21\n2026'])
  expect(labels('2026-10-26', '2026-11-23', 6)).toEqual(['Oct 26\n2026', 'Nov 2', 'Nov 9', 'Nov 16', 'Nov 23'])
})
