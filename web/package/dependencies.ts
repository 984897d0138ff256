import { computed } from 'vue'
import { useRoute } from 'vue-router'
import {
  type DependencyOriginFragment,
  DependenciesDocument,
  DependentsDocument,
  type ResolvedDependencyFragment,
} from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { usePackageParams } from './package.ts'
import { useCursorList, withRows } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'
import { useSession } from '../sign-in/session.ts'

/** Returns the direct and the dev dependencies of the displayed version. */
export function useDependencies() {
  const packageParams = usePackageParams()
  const { data, ...state } = useQuery(DependenciesDocument, { variables: packageParams })
  const all = computed(() => (data.value?.package?.version ?? data.value?.package?.displayedVersion)?.dependencies)
  const of = (wanted: ResolvedDependencyFragment['kind']) =>
    computed(() => all.value?.filter(({ kind }) => kind === wanted).map((dependency) => ({ ...dependency, id: dependency.name })))
  return { ...state, direct: of('DIRECT'), dev: of('DEV'), isEmpty: computed(() => all.value?.length === 0) }
}

/** What is known of a dependency's source. */
type StatedSource = Pick<DependencyOriginFragment, 'source' | 'sdk' | 'isHostedHere' | 'hostedUrl'>

/** Hosts of the public registry of Dart. Clients use it for dependencies that name no registry. */
const pubDev = new Set(['pub.dev', 'pub.dartlang.org'])

/** Returns the source of a dependency for display. */
export function sourceOf({ source, sdk, isHostedHere, hostedUrl }: StatedSource): string {
  if (source === 'SDK') return `${sdk === 'flutter' ? 'Flutter' : sdk === 'dart' ? 'Dart' : sdk} SDK`
  if (source === 'GIT') return 'Git'
  if (source === 'PATH') return 'Path'
  if (isHostedHere) return 'This server'
  const host = hostedUrl ? new URL(hostedUrl).host : 'pub.dev'
  return pubDev.has(host) ? 'pub.dev' : host
}

/**
 * Returns a function that returns the host of a dependency on a package of the mirrored server: it names no registry, or that of the mirror or of the
 * mirrored server. Undefined for other dependencies and without a mirror.
 */
export function useMirroredHost() {
  const { server } = useSession()
  return ({ source, hostedUrl, isHostedHere }: StatedSource): string | undefined => {
    const { mirrorHost, url } = server.value ?? {}
    if (mirrorHost == null || source !== 'HOSTED' || isHostedHere) return undefined
    const isMirrored = hostedUrl == null || hostedUrl.replace(/\/+$/, '') === `${url}/mirror` || URL.parse(hostedUrl)?.host === mirrorHost
    return isMirrored ? mirrorHost : undefined
  }
}

/** Returns the URL of a package on pub.dev, for dependencies that clients get there. */
export const pubDevUrl = (dependency: DependencyOriginFragment) =>
  sourceOf(dependency) === 'pub.dev' ? `https://pub.dev/packages/${dependency.name}` : undefined

/**
 * Returns a page of the packages that depend on the package in the URL, filtered by the URL parameter `q`, and how many need it directly or through
 * other packages.
 */
export function useDependents() {
  const route = useRoute()
  const q = useQueryParam<string>('q', '', { resets: ['after'], replace: true })
  const { list, data } = useCursorList({
    document: DependentsDocument,
    variables: (after) => ({ name: String(route.params.name), query: q.value || null, after }),
    connection: (found) =>
      withRows(found.package?.dependents, (nodes) => nodes.flatMap(({ package: pkg, ...rest }) => (pkg ? [{ ...rest, ...pkg }] : []))),
  })
  return { list, q, all: computed(() => data.value?.package?.allDependents) }
}
