import { ok, route } from '../../platform/rest/route.ts'
import { ofViewer, userFields } from '../users/refs.ts'

export const sessionRoutes = [
  route('POST /api/auth/login', `mutation ($input: LoginInput!) { login(input: $input) { user { ${userFields} } } }`, {
    anyCredential: true,
    summary: 'Signs in with e-mail and password; sets the session cookies.',
    answer: 'login.user',
    errorStatuses: [401],
  }),
  route('POST /api/auth/confirm-password', 'mutation ($input: ConfirmPasswordInput!) { confirmPassword(input: $input) { sessionId } }', {
    summary: 'Confirms your password; for the next ten minutes this session may perform operations that require it.',
    answer: ok,
    errorStatuses: [429],
  }),
  route(
    'GET /api/auth/sessions',
    'query ($after: String) { viewer { sessions(first: 100, after: $after) { nodes { id: uuid createdAt lastUsedAt expiresAt clientIp userAgent current } pageInfo { hasNextPage endCursor } } } }',
    { summary: 'Your sessions, newest first.', allNodes: 'viewer.sessions', answer: 'viewer', ...ofViewer, caller: 'ownAccount' },
  ),
  route('DELETE /api/auth/sessions/:id', 'mutation ($input: RevokeSessionInput!) { revokeSession(input: $input) { session { id } } }', {
    summary: 'Ends one of your sessions.',
    ids: { id: 'Session' },
    names: { id: 'sessionId' },
    answer: ok,
  }),
  route('POST /api/auth/sessions/revoke-others', 'mutation { revokeOtherSessions { revokedCount } }', {
    summary: 'Ends all your sessions except the one of this request.',
    answer: ok,
  }),
  route('POST /api/auth/logout', 'mutation { logout { sessionId } }', {
    summary: 'Signs out: ends the session of this request.',
    answer: ok,
  }),
]
