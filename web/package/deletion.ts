import { computed, type Ref } from 'vue'
import { DeletePackageDocument, DeleteVersionDocument, DeletionImpactDocument } from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'

/** Returns the impact of deleting a package or a version. Queries whenever `isWanted` becomes true. */
export function useDeletionImpact(removed: () => { name: string; version: string | null }, isWanted: Readonly<Ref<boolean>>) {
  const { data, ...query } = useQuery(DeletionImpactDocument, { variables: removed, isWanted })
  return {
    ...query,
    chains: computed(() => data.value?.package?.brokenByDeletion?.map(({ names }) => names) ?? []),
    affected: computed(() => data.value?.package?.affectedByDeletion?.nodes ?? []),
    affectedCount: computed(() => data.value?.package?.affectedByDeletion?.totalCount ?? 0),
    versionCount: computed(() => data.value?.package?.versions.totalCount ?? 0),
    isUpstreamName: computed(() => data.value?.package?.isUpstreamName ?? false),
    isKnown: computed(() => data.value?.package !== undefined),
  }
}

export const useDeletePackage = () => useMutation(DeletePackageDocument)
export const useDeleteVersion = () => useMutation(DeleteVersionDocument)
