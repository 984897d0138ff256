import { computed } from 'vue'
import { useRoute } from 'vue-router'
import {
  AddUploaderDocument,
  PackageActivityDocument,
  PackageAdminDocument,
  RemoveUploaderDocument,
  UpdatePackageOptionsDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { kindsOf } from '../audit/audit.ts'
import { eventName } from '../audit/event-labels.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** Returns the settings of the package in the URL. */
export function usePackageAdmin() {
  const route = useRoute()
  const { data, ...state } = useQuery(PackageAdminDocument, { variables: () => ({ name: String(route.params.name) }) })
  return { ...state, pkg: computed(() => data.value?.package ?? undefined) }
}

export const useUpdatePackageOptions = () => useMutation(UpdatePackageOptionsDocument)
export const useAddUploader = () => useMutation(AddUploaderDocument)
export const useRemoveUploader = () => useMutation(RemoveUploaderDocument)

/** The choices of the event filter: every kind of package event, and all kinds. */
export const activityKinds = [
  { value: 'any', label: 'Any event' },
  ...kindsOf('package').map((name) => ({ value: `package.${name}`, label: eventName(name) })),
]

/** Returns a page of the activity of the package in the URL, filtered by the URL parameters `kind` and `server`. */
export function usePackageActivity() {
  const route = useRoute()
  const kind = useQueryParam<string>('kind', 'any', { resets: ['after'] })
  const server = useQueryParam<string>('server', '', { resets: ['after'], replace: true })
  const withServer = computed({ get: () => server.value !== '', set: (isShown) => (server.value = isShown ? '1' : '') })
  const { list } = useCursorList({
    document: PackageActivityDocument,
    variables: (after) => ({
      name: String(route.params.name),
      kind: kind.value === 'any' ? null : kind.value,
      peopleOnly: !withServer.value,
      after,
    }),
    connection: (data) => data.package?.activity,
  })
  return { list, kind, withServer }
}
