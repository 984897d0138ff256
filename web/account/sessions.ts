import { computed } from 'vue'
import { RevokeOtherSessionsDocument, RevokeSessionDocument, SecurityHistoryDocument, SessionsDocument } from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** The viewer's sessions, a page of them; the page is in the address. This browser's comes first. */
export function useSessions() {
  const after = useQueryParam<string>('after', '')
  const { data, ...state } = useQuery(SessionsDocument, () => ({ after: after.value || null }))
  const connection = computed(() => data.value?.viewer?.sessions)
  return {
    ...state,
    after,
    connection,
    sessions: computed(() => connection.value?.nodes.toSorted((one, other) => Number(other.current) - Number(one.current))),
  }
}

/** What happened around who gets into the viewer's account, a page of it; the page is in the address. */
export function useSecurityHistory() {
  const after = useQueryParam<string>('after', '')
  const { data, ...state } = useQuery(SecurityHistoryDocument, () => ({ after: after.value || null }))
  return { ...state, after, connection: computed(() => data.value?.viewer?.securityHistory) }
}

export const useRevokeSession = () => useMutation(RevokeSessionDocument)
export const useRevokeOtherSessions = () => useMutation(RevokeOtherSessionsDocument)
