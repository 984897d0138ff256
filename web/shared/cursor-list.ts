import type { AnyVariables, TypedDocumentNode } from '@urql/vue'
import { computed } from 'vue'
import { type Failure, useQuery } from '../graphql.ts'
import { useQueryParam } from './query-param.ts'

interface Connection<Row> {
  nodes: readonly Row[]
  pageInfo: { hasNextPage: boolean; endCursor?: string | null }
  totalCount?: number
}
type MaybeConnection<Row> = Connection<Row> | null | undefined

/** State of a list with cursor pagination, rendered by cursor-list.vue. */
export interface CursorList<Row> {
  /** The rows of the page; undefined until the first response. */
  readonly rows: readonly Row[] | undefined
  readonly total: number
  readonly pageInfo: Connection<Row>['pageInfo']
  /** Cursor after which the page starts; empty for the first page. */
  readonly after: string
  readonly loading: boolean
  readonly failure: Failure | undefined
  goTo: (after: string) => void
  retry: () => void
}

interface CursorListOptions<Result, Variables, Row> {
  document: TypedDocumentNode<Result, Variables>
  variables: (after: string | null) => Variables
  connection: (data: Result) => MaybeConnection<Row>
  /** URL parameter that holds the cursor, `after` by default. */
  param?: string
  /** Whether the list is queried, true by default. */
  isWanted?: () => boolean
}

/** Queries a list with cursor pagination. The cursor is stored in the URL. `data` is the complete query result. */
export function useCursorList<Result, Variables extends AnyVariables, Row>(options: CursorListOptions<Result, Variables, Row>) {
  const after = useQueryParam<string>(options.param ?? 'after', '')
  const { data, loading, failure, retry } = useQuery(options.document, {
    variables: () => options.variables(after.value || null),
    isWanted: options.isWanted ?? true,
  })
  // The data is null if the server rejects the query.
  const connection = computed(() => (data.value == null ? undefined : options.connection(data.value)))
  const list: CursorList<Row> = {
    get rows() {
      return connection.value?.nodes
    },
    get total() {
      return connection.value?.totalCount ?? 0
    },
    get pageInfo() {
      return connection.value?.pageInfo ?? { hasNextPage: false }
    },
    get after() {
      return after.value
    },
    get loading() {
      return loading.value
    },
    get failure() {
      return failure.value
    },
    goTo: (cursor) => void (after.value = cursor),
    retry,
  }
  return { list, data }
}

/** Returns a copy of a connection with transformed rows. */
export const withRows = <Node, Row>(connection: MaybeConnection<Node>, rowsOf: (nodes: readonly Node[]) => Row[]): MaybeConnection<Row> =>
  connection && { ...connection, nodes: rowsOf(connection.nodes) }
