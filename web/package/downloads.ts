import { computed } from 'vue'
import { useRoute } from 'vue-router'
import { DownloadsByVersionDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { useQueryParam } from '../shared/query-param.ts'
import type { ChartSeries } from '../shared/time-chart.ts'

export const groupings = [
  { value: 'major', label: 'Major versions' },
  { value: 'minor', label: 'Minor versions' },
]

export const ranges = [
  { value: '3-months', label: '3 months', weeks: 13 },
  { value: 'year', label: '1 year', weeks: 52 },
  { value: 'all', label: 'All', weeks: 520 },
]

/** Number of weeks from which bars would be too narrow. */
const longWeeks = 80

/** Returns the weekly downloads of the package in the URL, by the URL parameters `by` and `range`. */
export function useDownloads() {
  const route = useRoute()
  const by = useQueryParam<string>('by', 'major', { allowed: groupings.map(({ value }) => value), replace: true })
  const range = useQueryParam<string>('range', 'year', { allowed: ranges.map(({ value }) => value), replace: true })
  const { data, ...state } = useQuery(DownloadsByVersionDocument, {
    variables: () => ({
      name: String(route.params.name),
      by: by.value === 'minor' ? ('MINOR' as const) : ('MAJOR' as const),
      weeks: ranges.find(({ value }) => value === range.value)?.weeks ?? 52,
    }),
  })
  const downloads = computed(() => data.value?.package?.downloads ?? undefined)
  const series = computed<ChartSeries[]>(
    () =>
      downloads.value?.byVersion.groups.map((group) => ({
        name: group.name,
        values: group.downloads,
        neutral: group.kind !== 'VERSIONS',
      })) ?? [],
  )
  const isEmpty = computed(() => series.value.length === 0)
  const isLong = computed(() => (downloads.value?.byVersion.weeks.length ?? 0) > longWeeks)
  return { ...state, by, range, downloads, series, isLong, isEmpty }
}
