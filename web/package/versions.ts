import { computed } from 'vue'
import { useRoute } from 'vue-router'
import { UpdateVersionOptionsDocument, VersionGroupsDocument, VersionsDocument, type VersionRowFragment } from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { counted, dayOf } from '../shared/format.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'
import { useShownVersion } from './package.ts'

/** A group of versions. The count is unknown until the groups are loaded. */
export interface Group {
  name: string
  constraint: string
  count?: number
  highest?: string
}

const noGroup = 'none'

/** Returns the filter and the order from the URL, and the groups of all versions of the package in the URL. */
export function useVersionGroups() {
  const route = useRoute()
  const shown = useShownVersion()
  const filter = useQueryParam<string>('filter', '', { resets: ['after', 'open'], replace: true })
  const order = useQueryParam('order', 'descending', { allowed: ['descending', 'ascending'], resets: ['after'], replace: true })
  const { data, ...state } = useQuery(VersionGroupsDocument, { variables: () => ({ name: String(route.params.name) }) })
  const pkg = computed(() => data.value?.package ?? undefined)
  const first = computed(() => groupOf(shown.value?.version ?? '0.0.0'))
  // The group of the displayed version is loaded at the same time as the list of groups.
  const groups = computed<readonly Group[]>(() => {
    const known = pkg.value?.versionGroups ?? [first.value]
    return order.value === 'ascending' ? known.toReversed() : known
  })
  const open = useQueryParam<string>('open', first.value.name, { replace: true })
  const isOpen = ({ name }: Group) => open.value.split(',').includes(name)
  function toggle(group: Group) {
    const names = groups.value.filter((one) => isOpen(one) !== (one === group)).map(({ name }) => name)
    open.value = names.join(',') || noGroup
  }
  const isAdministered = computed(() => pkg.value?.viewerCanAdminister ?? false)
  const latest = computed(() => pkg.value?.latest?.version)
  return { ...state, filter, order, groups, isOpen, toggle, isAdministered, latest }
}

/** Returns the group that the server makes of all versions with the same first number. */
function groupOf(version: string): Group {
  const major = BigInt(/^\d+/.exec(version)?.[0] ?? 0)
  return { name: `${major}.x`, constraint: `>=${major}.0.0-0 <${major + 1n}.0.0-0` }
}

/** Returns a page of the versions that match a filter. The URL parameter `param` holds the cursor. */
export function useVersions(asked: () => { filter: string; ascending: boolean }, param: string) {
  const route = useRoute()
  return useCursorList({
    document: VersionsDocument,
    variables: (after) => ({
      name: String(route.params.name),
      filter: asked().filter.trim() || null,
      direction: asked().ascending ? ('ASC' as const) : ('DESC' as const),
      after,
    }),
    connection: (answer) => answer.package?.versions,
    param,
  })
}

export const useUpdateVersionOptions = () => useMutation(UpdateVersionOptionsDocument)

/** Returns whether a version can be retracted or restored, and how long, or why not. */
export function retractionOf(version: VersionRowFragment, now = new Date()) {
  const { isRetracted, viewerCanRestore, viewerCanRetract, restorableUntil, retractableUntil } = version
  const until = isRetracted ? restorableUntil : retractableUntil
  const window = isRetracted ? 'Restore window' : 'Retraction window'
  return {
    isPossible: isRetracted ? viewerCanRestore : viewerCanRetract,
    hint: until == null ? '' : deadline(window, new Date(until), now),
  }
}

/** Formats a deadline: "7 days left", "Retraction window ended on Jan 31, 2026". Days are rounded, so that a new 7-day window does not show 6 days. */
function deadline(window: string, until: Date, now: Date): string {
  const left = until.getTime() - now.getTime()
  if (left < 0) return `${window} ended on ${dayOf(until)}`
  const hours = Math.floor(left / 3_600_000)
  const days = Math.round(left / 86_400_000)
  return `${hours >= 24 ? counted(days, 'day') : hours > 0 ? counted(hours, 'hour') : 'Less than an hour'} left`
}

/** Returns the lowest SDK versions that a version supports: "Dart 3.4.0", "Flutter 3.22.0". The titles are the full constraints. */
export function lowestSdks({ environment }: VersionRowFragment) {
  return environment.map(({ sdk, constraint }) => {
    const name = sdk === 'sdk' ? 'Dart' : sdk === 'flutter' ? 'Flutter' : sdk
    const lowest = /^(?:\^|>=?\s*)?(\d[\w.+-]*)/.exec(constraint)?.[1]
    return { name, title: `${name} ${constraint}`, text: lowest ? `${name} ${lowest}` : `${name} ${constraint}` }
  })
}

/** Returns the route of the comparison of a version with another one. */
export const compareRoute = (name: string, from: string, to: string) => ({ name: 'package-compare', params: { name }, query: { from, to } })
