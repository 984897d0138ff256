import { refDebounced } from '@vueuse/core'
import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue'
import { type RouteLocationRaw, useRoute, useRouter } from 'vue-router'
import { VersionMenuDocument, type VersionMenuQuery } from '../generated/graphql.ts'
import { client, failureOf, type Failure } from '../graphql.ts'

type Connection = NonNullable<VersionMenuQuery['package']>['versions']
export type MenuVersion = Connection['nodes'][number]

/** The pages of a version that some versions do not have. */
const documents = ['changelog', 'example', 'license'] as const

/** Returns the versions of a package that contain `typed` or match it as a constraint. Further pages are loaded on demand with `loadMore`. */
export function useVersionMenu(name: () => string) {
  const route = useRoute()
  const typed = ref('')
  const filter = refDebounced(typed, 200)
  const versions = shallowRef<readonly MenuVersion[]>([])
  const latest = ref<string>()
  const total = ref(0)
  const pageInfo = shallowRef<Connection['pageInfo']>()
  const loading = ref(false)
  const failure = shallowRef<Failure>()
  let current: object | undefined

  async function load(after: string | null) {
    const request = (current = {})
    loading.value = true
    const page = pageOf(route.name)
    const wanted = Object.fromEntries(documents.map((kind) => [kind, kind === page])) as Record<(typeof documents)[number], boolean>
    const variables = { name: name(), filter: filter.value.trim() || null, after, ...wanted }
    const { data, error } = await client.query(VersionMenuDocument, variables, { requestPolicy: 'network-only' }).toPromise()
    if (request !== current) return
    loading.value = false
    failure.value = error && failureOf(error)
    const found = data?.package
    if (!found) return
    latest.value = found.latest?.version
    total.value = found.versions.totalCount
    pageInfo.value = found.versions.pageInfo
    versions.value = after === null ? found.versions.nodes : [...versions.value, ...found.versions.nodes]
  }
  watch(filter, () => load(null))
  onScopeDispose(() => (current = undefined))

  return {
    typed,
    versions,
    total,
    latest,
    failure,
    loading: computed(() => loading.value || typed.value !== filter.value),

    reload: () => load(null),
    async loadMore() {
      if (!loading.value && pageInfo.value?.hasNextPage) await load(pageInfo.value.endCursor ?? null)
    },
  }
}

/** Returns a function that links to a version: on the current tab if the version has it, otherwise on its readme. */
export function useVersionLinks() {
  const route = useRoute()
  const router = useRouter()
  return (version: MenuVersion, isLatest: boolean): RouteLocationRaw => {
    const page = pageOf(route.name)
    const isMissing = documents.some((kind) => kind === page && !version[kind])
    const tab = isMissing || !router.hasRoute(`version-${page}`) ? 'readme' : page
    const { name, path } = route.params
    const params = { name, ...((tab === 'files' || tab === 'api') && path && { path }) }
    const hash = tab === 'api' ? route.hash : ''
    return isLatest
      ? { name: `package-${tab}`, params, hash }
      : { name: `version-${tab}`, params: { ...params, version: version.version }, hash }
  }
}

/** Returns the name of a tab from the name of its route: `version-changelog` gives "changelog". */
const pageOf = (routeName: unknown) => String(routeName).replace(/^(?:package|version)-/, '')
