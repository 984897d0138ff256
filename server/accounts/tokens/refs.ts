import { builder } from '../../platform/graphql/builder.ts'
import type { AccessToken } from './entity.ts'
import type { Scope } from '../../platform/access/roles.ts'

/** The GraphQL type of tokens. Its fields are defined separately, because other features refer to it. */
export const AccessTokenRef = builder.objectRef<AccessToken>('AccessToken')

/** The fields of a token in REST responses. */
export const tokenFields = 'id: uuid name prefix scopes createdAt expiresAt'

export const TokenScope = builder.enumType('TokenScope', {
  description: 'Permissions of a token. Each scope includes the previous ones.',
  values: {
    READ: { value: 'read', description: 'Browse, search and download.' },
    WRITE: { value: 'write', description: 'Also publish, and manage own packages.' },
    ADMIN: { value: 'admin', description: "Also administer the server, if the owner's role allows it." },
  } satisfies Record<Uppercase<Scope>, { value: Scope; description: string }>,
})
