import { computed } from 'vue'
import { useRoute } from 'vue-router'
import {
  UpstreamPackageDocument,
  type UpstreamPackageQuery,
  UpstreamReadmeDocument,
  UpstreamUsersDocument,
  UpstreamVersionsDocument,
} from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { useCursorList, withRows } from '../shared/cursor-list.ts'
import { useSession } from '../sign-in/session.ts'

export type UpstreamPackage = NonNullable<UpstreamPackageQuery['upstreamPackage']>

/** Returns the name of the upstream package in the URL. */
function useName() {
  const route = useRoute()
  return computed(() => String(route.params.name))
}

/** Returns the upstream package in the URL. */
export function useUpstreamPackage() {
  const name = useName()
  const { data, ...state } = useQuery(UpstreamPackageDocument, { variables: () => ({ name: name.value }) })
  return { ...state, name, pkg: computed(() => data.value?.upstreamPackage ?? undefined) }
}

/** Returns the README of the upstream package in the URL; null without one. */
export function useUpstreamReadme() {
  const name = useName()
  const { data, ...state } = useQuery(UpstreamReadmeDocument, { variables: () => ({ name: name.value }) })
  return { ...state, html: computed(() => (data.value?.upstreamPackage ? (data.value.upstreamPackage.readme ?? null) : undefined)) }
}

/** Returns the versions of the upstream package in the URL. `versions` holds the cursor. */
export function useUpstreamVersions() {
  const name = useName()
  const { list } = useCursorList({
    document: UpstreamVersionsDocument,
    variables: (after) => ({ name: name.value, after }),
    connection: (data) => withRows(data.upstreamPackage?.versions, (nodes) => nodes.map((node) => ({ ...node, id: node.version }))),
    param: 'versions',
  })
  return list
}

/** Returns the packages of this server that use the upstream package in the URL. `users` holds the cursor. */
export function useUpstreamUsers() {
  const name = useName()
  const { list } = useCursorList({
    document: UpstreamUsersDocument,
    variables: (after) => ({ name: name.value, after }),
    connection: (data) =>
      withRows(data.upstreamPackage?.usedBy, (nodes) => nodes.flatMap(({ package: pkg, ...rest }) => (pkg ? [{ ...rest, ...pkg }] : []))),
    param: 'users',
  })
  return list
}

/** Whether the viewer may see which packages use an upstream package. */
export function useMaySeeUsers() {
  const { viewer } = useSession()
  return computed(() => viewer.value !== undefined)
}
