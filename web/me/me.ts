import { computed } from 'vue'
import { MyActivityDocument, MyPackagesDocument, MyPublishersDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** The packages that the viewer may publish to, a page of them; the page is in the address. */
export function useMyPackages() {
  const after = useQueryParam<string>('after', '')
  const { data, ...state } = useQuery(MyPackagesDocument, () => ({ after: after.value || null }))
  return { ...state, after, connection: computed(() => data.value?.viewer?.packages) }
}

/** What the viewer is in publishers. */
export function useMyPublishers() {
  const { data, ...state } = useQuery(MyPublishersDocument, {})
  return { ...state, memberships: computed(() => data.value?.viewer?.memberships) }
}

/** What the viewer did, a page of it; the page is in the address. */
export function useMyActivity() {
  const after = useQueryParam<string>('after', '')
  const { data, ...state } = useQuery(MyActivityDocument, () => ({ after: after.value || null }))
  return { ...state, after, connection: computed(() => data.value?.viewer?.activity) }
}
