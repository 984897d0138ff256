import { useIntervalFn } from '@vueuse/core'
import { computed, type ComputedRef, inject, type InjectionKey, provide } from 'vue'
import {
  MirrorDocument,
  type MirrorQuery,
  MirroredPackagesDocument,
  MirrorStateDocument,
  RefreshMirroredPackageDocument,
  RemoveMirroredPackageDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useCursorList, withRows } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'
import { useSession } from '../sign-in/session.ts'

/** Host of the package server that this server mirrors; undefined without a mirror that the viewer may read. */
export function useMirrorHost() {
  const { server } = useSession()
  return computed(() => server.value?.mirrorHost ?? undefined)
}

type Mirror = NonNullable<MirrorQuery['mirror']>
const mirrorKey: InjectionKey<ComputedRef<Mirror | undefined>> = Symbol('mirror')

/** Loads the URLs of the mirror and who may use it, and provides them to child components (`useMirror`). Returns the state of the query. */
export function provideMirror() {
  const { data, ...state } = useQuery(MirrorDocument)
  const mirror = computed(() => data.value?.mirror ?? undefined)
  provide(mirrorKey, mirror)
  return { ...state, mirror }
}

/** Returns what the nearest parent with `provideMirror` has loaded. */
export const useMirror = () => inject(mirrorKey, undefined) ?? computed(() => undefined)

/** Polls four times a minute what the mirror keeps and the state of the upstream server. For administrators. */
export function useMirrorState() {
  const { data, ...state } = useQuery(MirrorStateDocument)
  useIntervalFn(() => document.visibilityState === 'visible' && state.retry(), 15_000)
  return { ...state, state: computed(() => data.value?.mirror ?? undefined) }
}

/** Returns the packages in the mirror, filtered by the URL parameter `q`. For administrators. */
export function useMirroredPackages() {
  const q = useQueryParam<string>('q', '', { resets: ['after'], replace: true })
  const { list } = useCursorList({
    document: MirroredPackagesDocument,
    variables: (after) => ({ q: q.value || null, after }),
    connection: (data) => withRows(data.mirroredPackages, (nodes) => nodes.map((node) => ({ ...node, id: node.name }))),
  })
  return { list, q }
}

export const useRefreshMirroredPackage = () => useMutation(RefreshMirroredPackageDocument)
export const useRemoveMirroredPackage = () => useMutation(RemoveMirroredPackageDocument)
