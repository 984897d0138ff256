import { computed, type MaybeRefOrGetter, toValue } from 'vue'
import { useRoute } from 'vue-router'
import {
  CreateServiceAccountDocument,
  CreateServiceAccountTokenDocument,
  DeleteServiceAccountDocument,
  PublisherServiceAccountsDocument,
  RevokeServiceAccountTokenDocument,
  RotateServiceAccountTokenDocument,
  type ServiceAccountRole,
  ServiceAccountsDocument,
  UpdateServiceAccountDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'
import type { TokenCreation, TokenRotation } from '../tokens/tokens.ts'

/** Roles of service accounts on the server. */
export const serviceRoles = {
  VIEWER: { label: 'Viewer', description: 'Reads packages.' },
  MEMBER: { label: 'Member', description: 'Also publishes packages that it owns.' },
} satisfies Record<ServiceAccountRole, { label: string; description: string }>

const owners = ['any', 'server', 'publishers'] as const

/** Returns a page of all service accounts, newest first, filtered by the URL parameter `owner`. For administrators. */
export function useServiceAccounts() {
  const owner = useQueryParam<(typeof owners)[number]>('owner', 'any', { allowed: owners, resets: ['after'] })
  const { list } = useCursorList({
    document: ServiceAccountsDocument,
    variables: (after) => ({ after, belongsToServer: owner.value === 'any' ? null : owner.value === 'server' }),
    connection: (data) => data.serviceAccounts,
  })
  return { list, owner }
}

/** Returns the service accounts of the publisher in the URL, sorted by name, or null if the viewer may not see them. */
export function usePublisherServiceAccounts() {
  const route = useRoute()
  const { data, ...query } = useQuery(PublisherServiceAccountsDocument, { variables: () => ({ slug: String(route.params.slug) }) })
  return { ...query, accounts: computed(() => data.value && (data.value.publisher?.serviceAccounts ?? null)) }
}

export const useCreateServiceAccount = () => useMutation(CreateServiceAccountDocument)
export const useUpdateServiceAccount = () => useMutation(UpdateServiceAccountDocument)
export const useDeleteServiceAccount = () => useMutation(DeleteServiceAccountDocument)
export const useRevokeServiceAccountToken = () => useMutation(RevokeServiceAccountTokenDocument)

/** Returns the creation of tokens for a service account, given by its id. */
export function useServiceAccountTokenCreation(id: MaybeRefOrGetter<string | undefined>): TokenCreation {
  const { run, ...state } = useMutation(CreateServiceAccountTokenDocument)
  return {
    ...state,
    async run(token) {
      const serviceAccountId = toValue(id)
      return serviceAccountId ? (await run({ input: { serviceAccountId, ...token } }))?.createServiceAccountToken : undefined
    },
  }
}

/** Returns the rotation of tokens of a service account, given by its id. */
export function useServiceAccountTokenRotation(accountId: MaybeRefOrGetter<string | undefined>): TokenRotation {
  const { run, ...state } = useMutation(RotateServiceAccountTokenDocument)
  return {
    ...state,
    async run(id, overlapHours) {
      const account = toValue(accountId)
      return account ? (await run({ accountId: account, id, overlapHours }))?.rotateServiceAccountToken : undefined
    },
  }
}
