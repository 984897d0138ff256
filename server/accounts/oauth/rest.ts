import { z } from 'zod'
import { route } from '../../platform/rest/route.ts'
import { oauthBinaries, oauthMetadata } from './binary.ts'

const names = { request_id: 'requestId' }

export const oauthRoutes = [
  ...oauthBinaries,
  oauthMetadata,
  route(
    'GET /oauth/pending/:requestId',
    `query ($requestId: ID!) {
      pendingAuthorization(requestId: $requestId) {
        request_id: requestId client_id: clientId redirect_uri: redirectUri scope: scopes created_at: createdAt expires_at: expiresAt
      }
    }`,
    {
      summary: 'The authorization request that is waiting for this session.',
      answer: 'pendingAuthorization',
      changes: {
        'pendingAuthorization.scope': { from: (scopes) => (scopes as string[]).join(',').toLowerCase(), schema: z.string() },
      },
    },
  ),
  route(
    'POST /oauth/approve',
    'mutation ($input: ApproveAuthorizationInput!) { approveAuthorization(input: $input) { redirect_url: redirectUrl } }',
    { summary: 'Approves the request; send the browser to `redirect_url`.', names, errorStatuses: [404], answer: 'approveAuthorization' },
  ),
  route(
    'POST /oauth/deny',
    'mutation ($input: DenyAuthorizationInput!) { denyAuthorization(input: $input) { redirect_url: redirectUrl } }',
    { summary: 'Denies the client access; send the browser to `redirect_url`.', names, errorStatuses: [404], answer: 'denyAuthorization' },
  ),
]
