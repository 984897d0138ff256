import { RevokeOtherSessionsDocument, RevokeSessionDocument, SecurityHistoryDocument, SessionsDocument } from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'
import { useCursorList, withRows } from '../shared/cursor-list.ts'

/** The viewer's sessions, a page of them; the URL says which. This browser's comes first. */
export const useSessions = () =>
  useCursorList({
    document: SessionsDocument,
    variables: (after) => ({ after }),
    connection: (data) =>
      withRows(data.me.sessions, (nodes) => nodes.toSorted((one, other) => Number(other.current) - Number(one.current))),
  })

/** Sign-ins, tokens and sessions of the viewer's account, a page of them; the URL says which. */
export const useSecurityHistory = () =>
  useCursorList({
    document: SecurityHistoryDocument,
    variables: (after) => ({ after }),
    connection: (data) => data.me.securityHistory,
  })

export const useRevokeSession = () => useMutation(RevokeSessionDocument)
export const useRevokeOtherSessions = () => useMutation(RevokeOtherSessionsDocument)
