import { tokenFields } from './refs.ts'
import { ofViewer } from '../users/refs.ts'
import { ok, route } from '../../platform/rest/route.ts'

export const tokenRoutes = [
  route(
    'POST /api/auth/keys',
    `mutation ($input: CreateTokenInput!) { createToken(input: $input) { secret token @flatten { ${tokenFields} } } }`,
    { summary: 'Creates a personal access token; the secret is shown only once.', status: 201, answer: 'createToken' },
  ),
  route(
    'GET /api/auth/keys',
    `query ($after: String) { viewer { keys: tokens(first: 100, after: $after) { nodes { ${tokenFields} lastUsedAt } pageInfo { hasNextPage endCursor } } } }`,
    {
      summary: 'Your tokens, newest first, without their secrets.',
      allNodes: 'viewer.keys',
      answer: 'viewer',
      ...ofViewer,
      caller: 'ownAccount',
    },
  ),
  route(
    'POST /api/auth/keys/:id/rotate',
    `mutation ($input: RotateTokenInput!) { rotateToken(input: $input) { secret token @flatten { ${tokenFields} previousSecretExpiresAt } } }`,
    {
      summary: 'Gives a token a new secret, shown only once. The previous one works for the overlap, 24 hours by default.',
      ids: { id: 'AccessToken' },
      names: { id: 'tokenId' },
      answer: 'rotateToken',
    },
  ),
  route('DELETE /api/auth/keys/:id', 'mutation ($input: RevokeTokenInput!) { revokeToken(input: $input) { token { id } } }', {
    summary: 'Revokes a token and all tokens that were created with it.',
    ids: { id: 'AccessToken' },
    names: { id: 'tokenId' },
    answer: ok,
  }),
  route('POST /api/tokens/revoke', 'mutation ($input: RevokeTokenBySecretInput!) { revokeTokenBySecret(input: $input) { isAccepted } }', {
    anyCredential: true,
    summary: 'Revokes the token with this secret, for anyone who found it. The response does not reveal whether the token exists.',
    answer: ok,
  }),
]
