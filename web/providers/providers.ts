import { computed, type Ref } from 'vue'
import {
  CreateProviderDocument,
  DeleteProviderDocument,
  PeopleWithFactorDocument,
  ProvidersDocument,
  ProviderTestDocument,
  TestProviderDocument,
  UpdateGroupRulesDocument,
  UpdateProviderDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** Returns the sign-in providers and the settings of sign-in. */
export function useProviders() {
  const { data, ...query } = useQuery(ProvidersDocument)
  return {
    ...query,
    providers: computed(() => data.value?.oidcProviders),
    settings: computed(() => data.value?.signInSettings),
    requiresFactor: computed(() => data.value?.server?.requireSecondFactor),
  }
}

/** Returns the result of a test sign-in, by the parameter of the page that it returned to. */
export function useProviderTest(test: Ref<string>) {
  const { data, isAnswered, ...query } = useQuery(ProviderTestDocument, {
    isWanted: () => test.value !== '',
    variables: () => ({ test: test.value }),
  })
  return { ...query, isAnswered, result: computed(() => data.value?.oidcTestResult ?? undefined) }
}

/** Returns a page of the active users, by whether they have a second factor. The URL holds the filter and the cursor. */
export function usePeopleByFactor() {
  const factor = useQueryParam('factor', 'without', { allowed: ['without', 'with'], resets: ['after'], replace: true })
  const { list } = useCursorList({
    document: PeopleWithFactorDocument,
    variables: (after) => ({ after, hasSecondFactor: factor.value === 'with' }),
    connection: (data) => data.users,
  })
  return { list, factor }
}

export const useCreateProvider = () => useMutation(CreateProviderDocument)
export const useUpdateProvider = () => useMutation(UpdateProviderDocument)
export const useDeleteProvider = () => useMutation(DeleteProviderDocument)
export const useTestProvider = () => useMutation(TestProviderDocument)
export const useUpdateGroupRules = () => useMutation(UpdateGroupRulesDocument)
