import { computed } from 'vue'
import { MyActivityDocument, MyPackagesDocument, MyPublishersDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { useCursorList } from '../shared/cursor-list.ts'

/** The packages that the viewer may publish to, a page of them; the URL says which. */
export const useMyPackages = () =>
  useCursorList({ document: MyPackagesDocument, variables: (after) => ({ after }), connection: (data) => data.me.packages })

/** The viewer's memberships in publishers. */
export function useMyPublishers() {
  const { data, ...state } = useQuery(MyPublishersDocument, {})
  return { ...state, memberships: computed(() => data.value?.me.memberships) }
}

/** What the viewer did, a page of it; the URL says which. */
export const useMyActivity = () =>
  useCursorList({ document: MyActivityDocument, variables: (after) => ({ after }), connection: (data) => data.me.activity })
