import { computed, type MaybeRefOrGetter, toValue } from 'vue'
import {
  AddTrustedPublisherDocument,
  AllowManualPublishingOfPackageDocument,
  AllowManualPublishingOfPublisherDocument,
  CreateTokenIssuerDocument,
  DeleteTokenIssuerDocument,
  PackageTrustedPublishersDocument,
  PublisherTrustedPublishersDocument,
  RefreshTokenIssuerDocument,
  RemoveTrustedPublisherDocument,
  TokenIssuersDocument,
  UpdateTokenIssuerDocument,
  UpdateTrustedPublisherDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'

/** What a rule belongs to: a package, or a publisher with all its packages. */
export type RuleOwner = { package: string } | { publisherId: string }

/** Returns the rules of a package, or null if the viewer may not see them, and the CI systems of the server. */
export function usePackageRules(name: MaybeRefOrGetter<string>) {
  const { data, ...query } = useQuery(PackageTrustedPublishersDocument, { variables: () => ({ name: toValue(name) }) })
  return {
    ...query,
    pkg: computed(() => data.value?.package ?? undefined),
    rules: computed(() => data.value && (data.value.package?.trustedPublishers ?? null)),
    issuers: computed(() => data.value?.tokenIssuers ?? []),
  }
}

/** Returns the rules of a publisher, or null if the viewer may not see them, and the CI systems of the server. */
export function usePublisherRules(slug: MaybeRefOrGetter<string>) {
  const { data, ...query } = useQuery(PublisherTrustedPublishersDocument, { variables: () => ({ slug: toValue(slug) }) })
  return {
    ...query,
    publisher: computed(() => data.value?.publisher ?? undefined),
    rules: computed(() => data.value && (data.value.publisher?.trustedPublishers ?? null)),
    issuers: computed(() => data.value?.tokenIssuers ?? []),
  }
}

export const useAddRule = () => useMutation(AddTrustedPublisherDocument)
export const useUpdateRule = () => useMutation(UpdateTrustedPublisherDocument)
export const useRemoveRule = () => useMutation(RemoveTrustedPublisherDocument)

/** Switches publishing by people off and on again, for a package or all packages of a publisher. */
export function useManualPublishing(owner: MaybeRefOrGetter<RuleOwner>) {
  const ofPackage = useMutation(AllowManualPublishingOfPackageDocument)
  const ofPublisher = useMutation(AllowManualPublishingOfPublisherDocument)
  const isPackage = computed(() => 'package' in toValue(owner))
  return {
    running: computed(() => ofPackage.running.value || ofPublisher.running.value),
    failure: computed({
      get: () => (isPackage.value ? ofPackage : ofPublisher).failure.value,
      set: (failure) => ((isPackage.value ? ofPackage : ofPublisher).failure.value = failure),
    }),
    run(isAllowed: boolean) {
      const current = toValue(owner)
      if ('package' in current) return ofPackage.run({ package: current.package, isAllowed })
      return ofPublisher.run({ id: current.publisherId, isAllowed })
    },
  }
}

/** Returns the CI systems whose jobs can authenticate, sorted by name. */
export function useIssuers() {
  const { data, ...query } = useQuery(TokenIssuersDocument)
  return { ...query, issuers: computed(() => data.value?.tokenIssuers) }
}

export const useCreateIssuer = () => useMutation(CreateTokenIssuerDocument)
export const useUpdateIssuer = () => useMutation(UpdateTokenIssuerDocument)
export const useRefreshIssuer = () => useMutation(RefreshTokenIssuerDocument)
export const useDeleteIssuer = () => useMutation(DeleteTokenIssuerDocument)
