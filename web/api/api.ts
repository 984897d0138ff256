import { computed } from 'vue'
import { type RouteLocationRaw, useRoute, useRouter } from 'vue-router'
import {
  ApiDeclarationsDocument,
  ApiLibrariesDocument,
  type ApiLibrariesOfVersionFragment,
  ApiPageDocument,
  type VersionDetailsFragment,
} from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import type { OutlineEntry } from '../package/outline.ts'
import { usePackageParams } from '../package/package.ts'

export type ApiLibrary = ApiLibrariesOfVersionFragment['apiDocumentation']['libraries'][number]
type ApiDeclaration = ApiLibrary['declarations'][number]
type Documentation = VersionDetailsFragment['apiDocumentation']

/** What the states of documentation mean to readers, and their icons. */
export const documentationStates: Record<Documentation['state'], { text: string; icon: string }> = {
  COMPLETED: { text: '', icon: 'i-lucide-circle-check' },
  PENDING: { text: 'Queued for generation.', icon: 'i-lucide-clock-3' },
  RUNNING: { text: 'Being generated.', icon: 'i-lucide-loader' },
  FAILED: { text: 'Could not be generated', icon: 'i-lucide-triangle-alert' },
  NOT_ANALYZED: { text: 'Not generated yet.', icon: 'i-lucide-circle-dashed' },
  DISABLED: { text: 'Disabled on this server.', icon: 'i-lucide-circle-off' },
}

/** Returns the text for a state, with the reason of a failure. */
export const documentationText = ({ state, error }: Pick<Documentation, 'state' | 'error'>) =>
  state === 'FAILED' ? `${documentationStates.FAILED.text}${error ? `: ${error}` : '.'}` : documentationStates[state].text

/** Returns a function that makes the route of a page. The version in the URL is kept. */
export function useApiRoute() {
  const route = useRoute()
  return ({ path, anchor }: { path: string; anchor?: string | null | undefined }, version = route.params.version): RouteLocationRaw => ({
    name: version ? 'version-api' : 'package-api',
    params: { name: route.params.name, ...(version && { version }), path: path === '' ? [] : path.split('/') },
    ...(anchor != null && { hash: `#${anchor}` }),
  })
}

/** Returns the page in the URL, or the nearest page that the version has. */
export function useApiPage() {
  const route = useRoute()
  const router = useRouter()
  const packageParams = usePackageParams()
  const wanted = computed(() => [route.params.path ?? []].flat().filter(Boolean).join('/'))
  const { data, ...state } = useQuery(ApiPageDocument, { variables: () => ({ ...packageParams.value, path: wanted.value }) })
  const shown = computed(() => data.value?.package?.version ?? data.value?.package?.displayedVersion ?? undefined)
  const page = computed(() => shown.value && (shown.value.apiDocumentation.page ?? null))
  /** The links of a page name its version, and those of the latest version stay on the pages of the latest. */
  const html = computed(() => {
    const pages = `${router.options.history.base}/packages/${encodeURIComponent(packageParams.value.name)}`
    const ofVersion = `href="${pages}/versions/${encodeURIComponent(shown.value?.version ?? '')}/api`
    const text = page.value?.html ?? ''
    return packageParams.value.exact ? text : text.replaceAll(ofVersion, `href="${pages}/api`)
  })
  return { ...state, wanted, shown, page, html }
}

/** Returns the libraries of the displayed version. */
export function useApiLibraries() {
  const packageParams = usePackageParams()
  const { data, ...state } = useQuery(ApiLibrariesDocument, { variables: packageParams })
  const libraries = computed(() => (data.value?.package?.version ?? data.value?.package?.displayedVersion)?.apiDocumentation.libraries)
  return { ...state, libraries }
}

/** Returns the documented declarations of a file of the displayed version. */
export function useApiDeclarations(file: () => string) {
  const packageParams = usePackageParams()
  const { data } = useQuery(ApiDeclarationsDocument, {
    variables: () => ({ ...packageParams.value, file: file() }),
    isWanted: () => /^lib\/.*\.dart$/.test(file()),
  })
  const shown = computed(() => data.value?.package?.version ?? data.value?.package?.displayedVersion)
  return computed(() => shown.value?.apiDocumentation.declarations ?? [])
}

/** Leaves out the setter after a getter of the same name. */
const distinct = <Named>(all: readonly Named[], nameOf: (one: Named) => string) =>
  all.filter((one, index) => index === 0 || nameOf(one) !== nameOf(all[index - 1] as Named))

const groups: [title: string, kinds: string[]][] = [
  ['Classes', ['class']],
  ['Mixins', ['mixin']],
  ['Enums', ['enum']],
  ['Extension types', ['extension type']],
  ['Extensions', ['extension']],
  ['Functions', ['function']],
  ['Typedefs', ['typedef']],
  ['Constants', ['constant']],
  ['Properties', ['variable', 'getter', 'setter']],
]

/** Groups declarations by their kind, and leaves out kinds that do not occur. */
export const groupsOf = (declarations: readonly ApiDeclaration[]) =>
  groups
    .map(([title, kinds]) => ({
      title,
      declarations: distinct(
        declarations.filter(({ kind }) => kinds.includes(kind)),
        ({ name }) => name,
      ),
    }))
    .filter((group) => group.declarations.length > 0)

type Page = NonNullable<ReturnType<typeof useApiPage>['page']['value']>

/** Ids of the elements that have an address, and of other elements, which have none. */
const idPrefix = 'api-'
export const elementIds = (hash: string) => [`${idPrefix}${hash.slice(1)}`, hash.slice(1)]

/** Returns the sections of a page and their members for its outline. */
export const apiOutline = ({ sections }: Page): OutlineEntry[] =>
  sections.flatMap(({ id, label, entries }) => [
    { id, text: label, level: 0 },
    ...distinct(entries, ({ label: name }) => name).map((entry) => ({
      id: entry.id,
      text: entry.label,
      level: 1,
      hash: entry.id.slice(idPrefix.length),
    })),
  ])
