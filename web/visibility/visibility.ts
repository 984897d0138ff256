import { computed, type Ref } from 'vue'
import {
  ChangeVisibilityDocument,
  PackageVisibilityDocument,
  PublicListDocument,
  PublicPackagesDocument,
  UpdatePublicPackagesDocument,
  type Visibility,
  VisibilityPreviewDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { usePageNumber } from '../shared/query-param.ts'

export const publicPageSize = 20

/** Returns the state of public packages on this server. */
export function usePublicPackages() {
  const { data, ...state } = useQuery(PublicPackagesDocument)
  return { ...state, status: computed(() => data.value?.publicPackages) }
}

/** Returns a page of the public packages, including unlisted ones. The URL holds the page number. */
export function usePublicList() {
  const page = usePageNumber()
  const { data, ...state } = useQuery(PublicListDocument, {
    variables: () => ({
      first: publicPageSize,
      offset: (page.value - 1) * publicPageSize,
    }),
  })
  const list = computed(() => data.value?.managedPackages)
  const packages = computed(() => list.value?.nodes.flatMap(({ package: pkg }) => pkg ?? []) ?? [])
  return { ...state, page, list, packages }
}

export const useUpdatePublicPackages = () => useMutation(UpdatePublicPackagesDocument)

/** Returns the visibility of a package and the settings that affect it. */
export function useVisibility(name: () => string) {
  const { data, ...state } = useQuery(PackageVisibilityDocument, { variables: () => ({ name: name() }) })
  return { ...state, visibility: computed(() => data.value?.package?.visibilityState) }
}

/** Returns the effects of making a package public or private. Queries whenever `isWanted` becomes true. */
export function useVisibilityPreview(change: () => { name: string; visibility: Visibility }, isWanted: Readonly<Ref<boolean>>) {
  const { data, ...state } = useQuery(VisibilityPreviewDocument, { variables: change, isWanted })
  return { ...state, preview: computed(() => data.value?.package?.visibilityPreview) }
}

export const useChangeVisibility = () => useMutation(ChangeVisibilityDocument)
