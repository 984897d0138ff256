import { computed } from 'vue'
import {
  LikedPackagesDocument,
  MyActivityDocument,
  MyPackagesDocument,
  MyPublishersDocument,
  WatchedPackagesDocument,
  WatchedVersionsDocument,
} from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { useCursorList } from '../shared/cursor-list.ts'

/** Returns a page of the packages that the viewer may publish to. The URL holds the cursor. */
export const useMyPackages = () =>
  useCursorList({ document: MyPackagesDocument, variables: (after) => ({ after }), connection: (data) => data.me?.packages })

/** Returns the viewer's memberships in publishers. */
export function useMyPublishers() {
  const { data, ...state } = useQuery(MyPublishersDocument)
  return { ...state, memberships: computed(() => data.value?.me?.memberships) }
}

/** Returns a page of the viewer's activity. The URL holds the cursor. */
export const useMyActivity = () =>
  useCursorList({ document: MyActivityDocument, variables: (after) => ({ after }), connection: (data) => data.me?.activity })

/** Returns a page of the packages that the viewer likes. The URL holds the cursor. */
export const useLikedPackages = () =>
  useCursorList({ document: LikedPackagesDocument, variables: (after) => ({ after }), connection: (data) => data.likedPackages })

/** Returns a page of the versions of packages that the viewer watches. The URL holds the cursor. */
export const useWatchedVersions = () =>
  useCursorList({ document: WatchedVersionsDocument, variables: (after) => ({ after }), connection: (data) => data.watchedVersions })

/** Returns the packages that the viewer watches, at most 100. */
export function useWatchedPackages() {
  const { data } = useQuery(WatchedPackagesDocument)
  return { watched: computed(() => data.value?.watchedPackages?.nodes.flatMap((watch) => watch?.package ?? [])) }
}
