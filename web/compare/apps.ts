import { computed } from 'vue'
import { DeleteAppDocument, SaveAppDocument, SavedAppDocument, SavedAppsDocument } from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useMyPublishers } from '../me/me.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** Stands for the viewer among the owners of apps. */
export const ownApps = 'me'

/** Returns who can own apps of the viewer: the viewer, and the publishers that they belong to. */
export function useAppOwners() {
  const { memberships } = useMyPublishers()
  return computed(() => [
    { value: ownApps, label: 'Me' },
    ...(memberships.value ?? []).flatMap(({ publisher }) => (publisher ? [{ value: publisher.slug, label: publisher.displayName }] : [])),
  ])
}

/** Returns the saved apps of the viewer, or of the publisher in the URL parameter `owner`. */
export function useSavedApps() {
  const owner = useQueryParam<string>('owner', ownApps, { resets: ['after', 'app'] })
  const { list } = useCursorList({
    document: SavedAppsDocument,
    variables: (after) => ({ publisher: owner.value === ownApps ? null : owner.value, after }),
    connection: (data) => data.savedApps,
  })
  return { owner, list }
}

/** Returns the app in the URL parameter `app`. */
export function useSavedApp() {
  const chosen = useQueryParam<string>('app', '')
  const isChosen = () => chosen.value !== ''
  const { data, isAnswered, ...state } = useQuery(SavedAppDocument, { variables: () => ({ appId: chosen.value }), isWanted: isChosen })
  const app = computed(() => (isChosen() ? (data.value?.savedApp ?? undefined) : undefined))
  const isMissing = computed(() => isChosen() && isAnswered.value && !state.loading.value && !app.value)
  return { ...state, chosen, app, isMissing }
}

export const useSaveApp = () => useMutation(SaveAppDocument)
export const useDeleteApp = () => useMutation(DeleteAppDocument)
