import { computed, type Ref } from 'vue'
import { PackagesLikeDocument, PeopleLikeDocument, PublishersLikeDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'

/** What a filter of the audit log can complete. */
export type Suggested = 'person' | 'package' | 'publisher'

interface Suggestion {
  value: string
  label?: string
}

/** Returns up to eight suggestions for the typed text; none while it is empty. */
export function useSuggestions(kind: Suggested, text: Readonly<Ref<string>>) {
  const isWanted = (wanted: Suggested) => () => kind === wanted && text.value !== ''
  const people = useQuery(PeopleLikeDocument, {
    variables: () => ({ query: text.value }),
    isWanted: isWanted('person'),
    isBackground: true,
  })
  const packages = useQuery(PackagesLikeDocument, {
    variables: () => ({ prefix: text.value.toLowerCase() }),
    isWanted: isWanted('package'),
    isBackground: true,
  })
  const publishers = useQuery(PublishersLikeDocument, {
    variables: () => ({ query: text.value }),
    isWanted: isWanted('publisher'),
    isBackground: true,
  })
  return computed<Suggestion[]>(() => {
    if (text.value === '') return []
    if (kind === 'person')
      return (people.data.value?.users?.nodes ?? []).map(({ email, displayName }) => ({ value: email, label: displayName }))
    if (kind === 'package') return (packages.data.value?.completePackageNames ?? []).map((value) => ({ value }))
    return (publishers.data.value?.publishers?.nodes ?? []).map(({ slug, displayName }) => ({ value: slug, label: displayName }))
  })
}
