import { SearchUpstreamDocument, type SearchUpstreamQuery, type SearchUpstreamQueryVariables } from '../generated/graphql.ts'
import { client } from '../graphql.ts'

/** Returns names of packages of the upstream server for a typed text. Failures yield no names. */
export async function completeUpstream(typed: string): Promise<string[]> {
  const query = typed.trim()
  if (!/^[A-Za-z_][A-Za-z0-9_]{1,63}$/.test(query)) return []
  const variables = { query, first: 5 }
  const context = { isBackground: true }
  const { data } = await client
    .query<SearchUpstreamQuery, SearchUpstreamQueryVariables>(SearchUpstreamDocument, variables, context)
    .toPromise()
  return data?.searchUpstream?.map(({ name }) => name) ?? []
}
