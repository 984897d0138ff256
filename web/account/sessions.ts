import { RevokeOtherSessionsDocument, RevokeSessionDocument, SecurityHistoryDocument, SessionsDocument } from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'
import { useCursorList, withRows } from '../shared/cursor-list.ts'

/** Returns a page of the viewer's sessions, the current session first. The URL holds the cursor. */
export const useSessions = () =>
  useCursorList({
    document: SessionsDocument,
    variables: (after) => ({ after }),
    connection: (data) =>
      withRows(data.me?.sessions, (nodes) => nodes.toSorted((one, other) => Number(other.current) - Number(one.current))),
  })

/** Returns a page of the security events of the viewer's account: sign-ins, tokens and sessions. The URL holds the cursor. */
export const useSecurityHistory = () =>
  useCursorList({
    document: SecurityHistoryDocument,
    variables: (after) => ({ after }),
    connection: (data) => data.me?.securityHistory,
  })

export const useRevokeSession = () => useMutation(RevokeSessionDocument)
export const useRevokeOtherSessions = () => useMutation(RevokeOtherSessionsDocument)
