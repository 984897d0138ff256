import type { AnyVariables, TypedDocumentNode } from '@urql/vue'
import { computed } from 'vue'
import { type Failure, useQuery } from '../graphql.ts'
import { useQueryParam } from './query-param.ts'

interface Connection<Row> {
  nodes: readonly Row[]
  pageInfo: { hasNextPage: boolean; endCursor?: string | null }
  totalCount?: number
}
type Answer<Row> = Connection<Row> | null | undefined

/** A page of a list that is read by cursor, as cursor-list.vue shows it. */
export interface CursorList<Row> {
  /** Undefined until the server has answered. */
  readonly rows: readonly Row[] | undefined
  readonly total: number
  readonly pageInfo: Connection<Row>['pageInfo']
  /** The cursor after which the page begins; empty for the first one. */
  readonly after: string
  readonly loading: boolean
  readonly failure: Failure | undefined
  goTo: (after: string) => void
  retry: () => void
}

interface Reading<Result, Variables, Row> {
  document: TypedDocumentNode<Result, Variables>
  variables: (after: string | null) => Variables
  connection: (data: Result) => Answer<Row>
  /** The URL parameter that holds the cursor. */
  param?: string
}

/** Reads a list page by page; the URL holds the cursor. `data` is the whole answer. */
export function useCursorList<Result, Variables extends AnyVariables, Row>(reading: Reading<Result, Variables, Row>) {
  const after = useQueryParam<string>(reading.param ?? 'after', '')
  const { data, loading, failure, retry } = useQuery(reading.document, () => reading.variables(after.value || null))
  // A refused query answers with null.
  const connection = computed(() => (data.value == null ? undefined : reading.connection(data.value)))
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

/** The same page of a list with other rows. */
export const withRows = <Node, Row>(connection: Answer<Node>, rowsOf: (nodes: readonly Node[]) => Row[]): Answer<Row> =>
  connection && { ...connection, nodes: rowsOf(connection.nodes) }
