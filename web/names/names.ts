import {
  ApproveNameDocument,
  ConfusableNamesDocument,
  FreeNameDocument,
  RejectNameDocument,
  ReservedNamesDocument,
} from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'
import { useCursorList, withRows } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** The filter of both lists: the URL parameter `q`. */
export const useNameFilter = () => useQueryParam<string>('q', '', { resets: ['reserved', 'confusable'], replace: true })
const byName = <Node extends { name: string }>(nodes: readonly Node[]) => nodes.map((node) => ({ ...node, id: node.name }))

/** The names of deleted packages, by the URL parameters `q`, `reserved` (after which name). */
export function useReservedNames() {
  const q = useNameFilter()
  const { list } = useCursorList({
    document: ReservedNamesDocument,
    variables: (after) => ({ q: q.value || null, after }),
    connection: (data) => withRows(data.reservedNames, byName),
    param: 'reserved',
  })
  return { list, q }
}

/** The names that could be confused with others and are not approved: `q`, `confusable` (after which name). */
export function useConfusableNames() {
  const q = useNameFilter()
  const { list } = useCursorList({
    document: ConfusableNamesDocument,
    variables: (after) => ({ q: q.value || null, after }),
    connection: (data) => withRows(data.confusableNames, byName),
    param: 'confusable',
  })
  return { list, q }
}

export const useFreeName = () => useMutation(FreeNameDocument)
export const useApproveName = () => useMutation(ApproveNameDocument)
export const useRejectName = () => useMutation(RejectNameDocument)
