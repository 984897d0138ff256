import { type Data, route } from '../rest/route.ts'
import { oauthBinaries } from './binary.ts'

const names = { request_id: 'requestId' }

export const oauthRoutes = [
  ...oauthBinaries,
  route(
    'GET /oauth/pending/:requestId',
    `query ($requestId: ID!) {
      pendingAuthorization(requestId: $requestId) {
        request_id: requestId client_id: clientId redirect_uri: redirectUri scopes created_at: createdAt expires_at: expiresAt
      }
    }`,
    {
      summary: 'The authorization request that is waiting for this session.',
      answer: {
        from: ({ pendingAuthorization }) => {
          const { scopes, ...rest } = pendingAuthorization as Data & { scopes: string[] }
          return { ...rest, scope: scopes.join(',').toLowerCase() }
        },
      },
    },
  ),
  route(
    'POST /oauth/approve',
    'mutation ($input: ApproveAuthorizationInput!) { approveAuthorization(input: $input) { redirect_url: redirectUrl } }',
    {
      summary: 'Approves the request; send the browser to `redirect_url`.',
      names,
      answer: 'approveAuthorization',
    },
  ),
  route(
    'POST /oauth/deny',
    'mutation ($input: DenyAuthorizationInput!) { denyAuthorization(input: $input) { redirect_url: redirectUrl } }',
    {
      summary: 'Denies the client access; send the browser to `redirect_url`.',
      names,
      answer: 'denyAuthorization',
    },
  ),
]
