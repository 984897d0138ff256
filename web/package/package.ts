import { computed, inject, type InjectionKey, type Ref } from 'vue'
import { useRoute } from 'vue-router'
import { InstallationDocument, PackageDocument, type VersionDetailsFragment, VersionDocumentDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { useSession } from '../sign-in/session.ts'

export type DocumentKind = 'readme' | 'changelog' | 'example' | 'license'
type ShownVersion = Readonly<Ref<VersionDetailsFragment | undefined>>

/** Passes the version on show from the frame of its package to the tabs. */
export const shownVersionKey: InjectionKey<ShownVersion> = Symbol('shown version')
export const useShownVersion = () => inject(shownVersionKey) as ShownVersion

/** Passes what reads the package and the version on show again. */
export const reloadPackageKey: InjectionKey<() => void> = Symbol('reload package')
export const useReloadPackage = () => inject(reloadPackageKey) as () => void

/** What the address names: a package, and perhaps exactly one version of it; else its latest is meant. */
export function useAddressed() {
  const route = useRoute()
  return computed(() => {
    const { name, version } = route.params
    return typeof version === 'string'
      ? { name: String(name), version, exact: true }
      : { name: String(name), version: '0.0.0', exact: false } // a version that is not looked at
  })
}

/** The package and the version on show. */
export function usePackage() {
  const addressed = useAddressed()
  const { viewer } = useSession()
  // People are only shown to those who are signed in.
  const { data, ...state } = useQuery(PackageDocument, () => ({ ...addressed.value, signedIn: viewer.value !== undefined }))
  const pkg = computed(() => data.value?.package ?? undefined)
  // Until the next answer arrives, the last one stays visible.
  const version = computed(() => [pkg.value?.version, pkg.value?.displayedVersion].find(isDetailed))
  const isMissing = computed(() => state.isAnswered.value && !version.value && !state.loading.value)
  return { ...state, addressed, isMissing, pkg, version }
}

/** One text of the version on show, as HTML that the server made safe; null when there is none. */
export function useVersionDocument(kind: DocumentKind) {
  const addressed = useAddressed()
  const { data, ...state } = useQuery(VersionDocumentDocument, () => ({ ...addressed.value, [kind]: true }))
  const text = computed(() => {
    const pkg = data.value?.package
    return data.value && ((pkg?.version ?? pkg?.displayedVersion)?.[kind] ?? null)
  })
  return { ...state, text }
}

/** What to type or paste to use the version on show. */
export function useInstallation() {
  const addressed = useAddressed()
  const { data, ...state } = useQuery(InstallationDocument, addressed)
  return { ...state, version: computed(() => data.value?.package?.version ?? data.value?.package?.displayedVersion ?? undefined) }
}

const isDetailed = (version: object | null | undefined): version is VersionDetailsFragment => version != null && 'archiveUrl' in version
