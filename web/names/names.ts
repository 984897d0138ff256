import { computed } from 'vue'
import {
  ApproveNameDocument,
  ConfusableNamesDocument,
  FreeNameDocument,
  RejectNameDocument,
  ReservedNamesDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** The names of deleted packages, as the address asks for them: `q`, `reserved` (after which name). */
export function useReservedNames() {
  const q = useQueryParam<string>('q', '', { resets: ['reserved', 'confusable'] })
  const after = useQueryParam<string>('reserved', '')
  const { data, ...query } = useQuery(ReservedNamesDocument, () => ({ q: q.value || null, after: after.value || null }))
  const connection = computed(() => data.value?.reservedNames)
  const rows = computed(() => connection.value?.nodes.map((node) => ({ ...node, id: node.name })) ?? [])
  return { ...query, q, after, connection, rows }
}

/** The names that could be confused with others and are not approved: `q`, `confusable` (after which name). */
export function useConfusableNames() {
  const q = useQueryParam<string>('q', '', { resets: ['reserved', 'confusable'] })
  const after = useQueryParam<string>('confusable', '')
  const { data, ...query } = useQuery(ConfusableNamesDocument, () => ({ q: q.value || null, after: after.value || null }))
  const connection = computed(() => data.value?.confusableNames)
  const rows = computed(() => connection.value?.nodes.map((node) => ({ ...node, id: node.name })) ?? [])
  return { ...query, q, after, connection, rows }
}

export const useFreeName = () => useMutation(FreeNameDocument)
export const useApproveName = () => useMutation(ApproveNameDocument)
export const useRejectName = () => useMutation(RejectNameDocument)
