import { computed } from 'vue'
import { useRoute } from 'vue-router'
import { UpdateVersionOptionsDocument, VersionsDocument, type VersionRowFragment } from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'
import { counted, dayOf } from '../shared/format.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** Returns the versions of the package in the URL, filtered and sorted by the URL parameters `filter` and `order`. */
export function useVersions() {
  const route = useRoute()
  const resets = ['after']
  const filter = useQueryParam<string>('filter', '', { resets, replace: true })
  const order = useQueryParam('order', 'descending', { allowed: ['descending', 'ascending'], resets, replace: true })
  const { list, data } = useCursorList({
    document: VersionsDocument,
    variables: (after) => ({
      name: String(route.params.name),
      filter: filter.value.trim() || null,
      ascending: order.value === 'ascending',
      after,
    }),
    connection: (answer) => answer.package?.versions,
  })
  return { list, filter, order, isAdministered: computed(() => data.value?.package?.viewerCanAdminister ?? false) }
}

export const useUpdateVersionOptions = () => useMutation(UpdateVersionOptionsDocument)

/** Returns whether a version can be retracted or restored, and a hint about the deadline. */
export function retractionOf(version: VersionRowFragment, now = new Date()) {
  const { isRetracted, viewerCanRestore, viewerCanRetract, restorableUntil, retractableUntil } = version
  const until = isRetracted ? restorableUntil : retractableUntil
  return { isPossible: isRetracted ? viewerCanRestore : viewerCanRetract, hint: until == null ? '' : deadline(new Date(until), now) }
}

/** Formats a deadline: "7 days left", "Expired on Jan 31, 2026". Days are rounded, so that a new 7-day window does not show 6 days. */
function deadline(until: Date, now: Date): string {
  const left = until.getTime() - now.getTime()
  if (left < 0) return `Expired on ${dayOf(until)}`
  const hours = Math.floor(left / 3_600_000)
  const days = Math.round(left / 86_400_000)
  return `${hours >= 24 ? counted(days, 'day') : hours > 0 ? counted(hours, 'hour') : 'Less than an hour'} left`
}
