import { watchDebounced } from '@vueuse/core'
import { type Ref, shallowRef } from 'vue'
import { SearchSymbolsDocument, type SearchSymbolsQuery, type SearchSymbolsQueryVariables } from '../generated/graphql.ts'
import { client } from '../graphql.ts'

export type ApiSymbol = NonNullable<SearchSymbolsQuery['searchSymbols']>['nodes'][number]

/** Returns symbols for the typed words; with `immediate`, also for what is typed already. Failures yield none; the page of the search reports them. */
export function useSymbolCompletion(typed: Ref<string>, isWanted: Ref<boolean>, first: number, immediate = false) {
  const symbols = shallowRef<ApiSymbol[]>([])
  watchDebounced(
    typed,
    async (words) => {
      const query = words.trim()
      if (!isWanted.value || query.length < 2 || query.includes(':')) return void (symbols.value = [])
      const variables = { query: query.slice(0, 1000), first, offset: 0 }
      const { data } = await client.query<SearchSymbolsQuery, SearchSymbolsQueryVariables>(SearchSymbolsDocument, variables).toPromise()
      // Discard the response if the text has changed in the meantime.
      if (typed.value === words) symbols.value = data?.searchSymbols?.nodes ?? []
    },
    { debounce: 160, immediate },
  )
  return symbols
}

export const symbolTitle = ({ name, parent }: Pick<ApiSymbol, 'name' | 'parent'>): string => (parent === null ? name : `${parent}.${name}`)

/** Returns the kind of a symbol in words, such as `extension type`. */
export const symbolKind = ({ kind }: Pick<ApiSymbol, 'kind'>): string => kind.toLowerCase().replaceAll('_', ' ')

const withPages: ReadonlySet<ApiSymbol['kind']> = new Set(['CLASS', 'MIXIN', 'EXTENSION', 'EXTENSION_TYPE', 'ENUM'])

/** Returns the address of a symbol in the API documentation. */
export function symbolPath({ name, parent, kind, library, version, package: pkg }: ApiSymbol): string {
  const folder = library.replace(/\.dart$/, '').replaceAll(/[^\w$=.-]/g, '-')
  const anchor = kind === 'SETTER' ? `${name}=` : kind === 'CONSTRUCTOR' ? `${parent}.${name}` : name
  const type = parent ?? (withPages.has(kind) ? name : null)
  const path = ['packages', pkg.name, 'versions', version, 'api', folder, ...(type === null ? [] : [type])]
    .map(encodeURIComponent)
    .join('/')
  return `/${path}${type === name && parent === null ? '' : `#${encodeURIComponent(anchor)}`}`
}
