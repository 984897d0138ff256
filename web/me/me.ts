import { computed } from 'vue'
import { MyActivityDocument, MyPackagesDocument, MyPublishersDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { useCursorList } from '../shared/cursor-list.ts'

/** Returns a page of the packages that the viewer may publish to. The URL holds the cursor. */
export const useMyPackages = () =>
  useCursorList({ document: MyPackagesDocument, variables: (after) => ({ after }), connection: (data) => data.me.packages })

/** Returns the viewer's memberships in publishers. */
export function useMyPublishers() {
  const { data, ...state } = useQuery(MyPublishersDocument, {})
  return { ...state, memberships: computed(() => data.value?.me.memberships) }
}

/** Returns a page of the viewer's activity. The URL holds the cursor. */
export const useMyActivity = () =>
  useCursorList({ document: MyActivityDocument, variables: (after) => ({ after }), connection: (data) => data.me.activity })
