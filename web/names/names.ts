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

/** Returns the filter for both lists from the URL parameter `q`. */
export const useNameFilter = () => useQueryParam<string>('q', '', { resets: ['reserved', 'confusable'], replace: true })
const byName = <Node extends { name: string }>(nodes: readonly Node[]) => nodes.map((node) => ({ ...node, id: node.name }))

/** Returns the names of deleted packages, filtered by the URL parameter `q`. `reserved` holds the cursor. */
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

/** Returns the unapproved names that are similar to other names, filtered by the URL parameter `q`. `confusable` holds the cursor. */
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
