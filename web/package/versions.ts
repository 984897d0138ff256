import { computed } from 'vue'
import { useRoute } from 'vue-router'
import { UpdateVersionOptionsDocument, VersionsDocument, type VersionRowFragment } from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'
import { counted, dayOf } from '../shared/format.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** The versions of the package that the URL names, as it asks for them: `filter`, `order`, `after`. */
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

/** Whether the version can be retracted or restored, and why not, or until when. */
export function retractionOf(version: VersionRowFragment, now = new Date()) {
  const { isRetracted, viewerCanRestore, viewerCanRetract, restorableUntil, retractableUntil } = version
  const until = isRetracted ? restorableUntil : retractableUntil
  return { isPossible: isRetracted ? viewerCanRestore : viewerCanRetract, hint: until == null ? '' : deadline(new Date(until), now) }
}

/** "7 days left" of whole days, rounded, so that a window does not seem shorter than it is; "Over since Jan 31, 2026". */
function deadline(until: Date, now: Date): string {
  const left = until.getTime() - now.getTime()
  if (left < 0) return `Over since ${dayOf(until)}`
  const hours = Math.floor(left / 3_600_000)
  const days = Math.round(left / 86_400_000)
  return `${hours >= 24 ? counted(days, 'day') : hours > 0 ? counted(hours, 'hour') : 'Less than an hour'} left`
}
