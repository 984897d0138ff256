import { computed, inject, type InjectionKey, type Ref } from 'vue'
import { useRoute } from 'vue-router'
import { InstallationDocument, PackageDocument, type VersionDetailsFragment, VersionDocumentDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { useSession } from '../sign-in/session.ts'

export type DocumentKind = 'readme' | 'changelog' | 'example' | 'license'
type ShownVersion = Readonly<Ref<VersionDetailsFragment | undefined>>

/** Injection key that passes the displayed version from the package's frame to its tabs. */
export const shownVersionKey: InjectionKey<ShownVersion> = Symbol('shown version')
export const useShownVersion = () => inject(shownVersionKey) as ShownVersion

/** Injection key of the function that reloads the package and the displayed version. */
export const reloadPackageKey: InjectionKey<() => void> = Symbol('reload package')
export const useReloadPackage = () => inject(reloadPackageKey) as () => void

/** Returns the package and version in the URL. Without a version, the latest one is displayed. */
export function usePackageParams() {
  const route = useRoute()
  return computed(() => {
    const { name, version } = route.params
    return typeof version === 'string'
      ? { name: String(name), version, exact: true }
      : { name: String(name), version: '0.0.0', exact: false } // placeholder for the required variable `version`; ignored by the query
  })
}

/** Returns the package in the URL and the displayed version. */
export function usePackage() {
  const packageParams = usePackageParams()
  const { viewer } = useSession()
  // Users are visible only to signed-in users.
  const { data, ...state } = useQuery(PackageDocument, {
    variables: () => ({ ...packageParams.value, signedIn: viewer.value !== undefined }),
  })
  const pkg = computed(() => data.value?.package ?? undefined)
  // The previous data stays visible until the next response.
  const version = computed(() => [pkg.value?.version, pkg.value?.displayedVersion].find(isDetailed))
  const isMissing = computed(() => state.isAnswered.value && !version.value && !state.loading.value)
  return { ...state, packageParams, isMissing, pkg, version }
}

/** Returns a document of the displayed version as sanitized HTML, or null if the version does not contain it. */
export function useVersionDocument(kind: DocumentKind) {
  const packageParams = usePackageParams()
  const { data, ...state } = useQuery(VersionDocumentDocument, { variables: () => ({ ...packageParams.value, [kind]: true }) })
  const text = computed(() => {
    const pkg = data.value?.package
    return data.value && ((pkg?.version ?? pkg?.displayedVersion)?.[kind] ?? null)
  })
  return { ...state, text }
}

/** Returns the commands and snippets for using the displayed version. */
export function useInstallation() {
  const packageParams = usePackageParams()
  const { data, ...state } = useQuery(InstallationDocument, { variables: packageParams })
  return { ...state, version: computed(() => data.value?.package?.version ?? data.value?.package?.displayedVersion ?? undefined) }
}

const isDetailed = (version: object | null | undefined): version is VersionDetailsFragment => version != null && 'archiveUrl' in version
