import { computed, type MaybeRefOrGetter, toValue } from 'vue'
import { DeletePackageDocument, DeleteVersionDocument, DeletionImpactDocument } from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'

/** What would break without a package, or without one version of it. */
export function useDeletionImpact(wanted: MaybeRefOrGetter<{ name: string; version: string | null }>) {
  const { data, ...query } = useQuery(DeletionImpactDocument, () => toValue(wanted))
  return {
    ...query,
    chains: computed(() => data.value?.package?.brokenByDeletion ?? []),
    affected: computed(() => data.value?.package?.affectedByDeletion.nodes ?? []),
    affectedCount: computed(() => data.value?.package?.affectedByDeletion.totalCount ?? 0),
    versionCount: computed(() => data.value?.package?.versions.totalCount ?? 0),
    isKnown: computed(() => data.value?.package !== undefined),
  }
}

export const useDeletePackage = () => useMutation(DeletePackageDocument)
export const useDeleteVersion = () => useMutation(DeleteVersionDocument)
