import { RevokeOtherSessionsDocument, RevokeSessionDocument, SecurityHistoryDocument, SessionsDocument } from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'
import { useCursorList, withRows } from '../shared/cursor-list.ts'

/** The viewer's sessions, a page of them; the page is in the address. This browser's comes first. */
export const useSessions = () =>
  useCursorList({
    document: SessionsDocument,
    variables: (after) => ({ after }),
    connection: (data) =>
      withRows(data.viewer?.sessions, (nodes) => nodes.toSorted((one, other) => Number(other.current) - Number(one.current))),
  })

/** What happened around who gets into the viewer's account, a page of it; the page is in the address. */
export const useSecurityHistory = () =>
  useCursorList({
    document: SecurityHistoryDocument,
    variables: (after) => ({ after }),
    connection: (data) => data.viewer?.securityHistory,
  })

export const useRevokeSession = () => useMutation(RevokeSessionDocument)
export const useRevokeOtherSessions = () => useMutation(RevokeOtherSessionsDocument)
