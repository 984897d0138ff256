import { watchDebounced } from '@vueuse/core'
import { type Ref, shallowRef } from 'vue'
import { CompleteSearchDocument, type CompleteSearchQuery, type CompleteSearchQueryVariables } from '../generated/graphql.ts'
import { client } from '../graphql.ts'

export type Completion = NonNullable<CompleteSearchQuery['completeSearch']>[number]

/** Returns completions for the typed query; with `immediate`, also for what is typed already. Failures yield no completions; the search itself reports them. */
export function useSearchCompletion(typed: Ref<string>, isWanted: Ref<boolean>, immediate = false) {
  const completions = shallowRef<Completion[]>([])
  watchDebounced(
    typed,
    async (query) => {
      if (!isWanted.value || query.trim() === '') {
        completions.value = []
        return
      }
      const variables = { query: query.slice(0, 1000) }
      const { data } = await client.query<CompleteSearchQuery, CompleteSearchQueryVariables>(CompleteSearchDocument, variables).toPromise()
      // Discard the response if the query has changed in the meantime.
      if (typed.value === query) completions.value = data?.completeSearch ?? []
    },
    { debounce: 120, immediate },
  )
  return completions
}
