import { type Data, ok, route } from '../rest/route.ts'

const tokenFields = 'id: uuid name prefix scopes createdAt expiresAt'
const lowerScopes = (token: unknown) => ({
  ...(token as Data),
  scopes: ((token as Data).scopes as string[]).map((scope) => scope.toLowerCase()),
})

export const tokenRoutes = [
  route('POST /api/auth/keys', `mutation ($input: CreateTokenInput!) { createToken(input: $input) { secret token { ${tokenFields} } } }`, {
    summary: 'Creates a personal access token; the secret is shown only once.',
    status: 201,
    answer: {
      from: ({ createToken }) => {
        const { secret, token } = createToken as { secret: string; token: Data }
        const { id, name, ...rest } = lowerScopes(token) as Data
        return { id, name, secret, ...rest }
      },
    },
  }),
  route(
    'GET /api/auth/keys',
    `query ($after: String) { me { tokens(first: 100, after: $after) { nodes { ${tokenFields} lastUsedAt } pageInfo { hasNextPage endCursor } } } }`,
    {
      summary: 'Your tokens, newest first, without their secrets.',
      whole: 'me.tokens',
      answer: { from: ({ me }) => ({ keys: (me as { tokens: { nodes: Data[] } }).tokens.nodes.map(lowerScopes) }) },
    },
  ),
  route('DELETE /api/auth/keys/:id', 'mutation ($input: RevokeTokenInput!) { revokeToken(input: $input) { token { id } } }', {
    summary: 'Revokes a token, and those that were made with it.',
    ids: { id: 'AccessToken' },
    answer: ok,
  }),
  route('POST /api/tokens/revoke', 'mutation ($input: RevokeTokenBySecretInput!) { revokeTokenBySecret(input: $input) }', {
    anyCredential: true,
    summary: 'Revokes the token with this secret, for whoever found it; the answer is the same when there is none.',
    answer: ok,
  }),
]
