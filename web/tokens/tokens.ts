import {
  CreateTokenDocument,
  type Role,
  RevokeTokenDocument,
  TokensDocument,
  type TokenRowFragment,
  type TokenScope,
} from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'
import { useCursorList, withRows } from '../shared/cursor-list.ts'

const dayMs = 86_400_000

/** Returns a page of the viewer's tokens, expired ones last. The URL holds the cursor. */
export const useTokens = () =>
  useCursorList({
    document: TokensDocument,
    variables: (after) => ({ after }),
    connection: (data) =>
      withRows(data.me?.tokens, (nodes) => nodes.toSorted((one, other) => Number(isExpired(one)) - Number(isExpired(other)))),
  })

export const useCreateToken = () => useMutation(CreateTokenDocument)
export const useRevokeToken = () => useMutation(RevokeTokenDocument)

export const isExpired = ({ expiresAt }: TokenRowFragment) => expiresAt != null && Date.parse(expiresAt) <= Date.now()

/** Whether the token expires within two weeks. */
export const isExpiring = (token: TokenRowFragment) =>
  token.expiresAt != null && !isExpired(token) && Date.parse(token.expiresAt) - Date.now() <= 14 * dayMs

/** Returns the date in `days` days. */
export const inDays = (days: number) => new Date(Date.now() + days * dayMs)

/** Labels of scopes. Each scope includes the scopes before it. */
export const access = {
  READ: { label: 'Read', description: 'Browse, search and download packages.' },
  WRITE: { label: 'Read and publish', description: 'Also publish new versions and manage your packages.' },
  ADMIN: { label: 'Administer', description: 'Also everything that your role allows on this server.' },
} satisfies Record<TokenScope, { label: string; description: string }>

const strongestFirst = ['ADMIN', 'WRITE', 'READ'] as const
export const strongest = (scopes: readonly TokenScope[]) => strongestFirst.find((scope) => scopes.includes(scope)) ?? 'READ'

/** Returns the scopes that a role may grant to a token. The server enforces the same limit. */
export const grantable = (role: Role): TokenScope[] =>
  role === 'VIEWER' ? ['READ'] : role === 'MEMBER' ? ['READ', 'WRITE'] : ['READ', 'WRITE', 'ADMIN']
