import { builder } from '../../platform/graphql/builder.ts'
import type { Scope } from '../../platform/access/roles.ts'

export const TokenScope = builder.enumType('TokenScope', {
  description: 'Permissions of a token. Each scope includes the previous ones.',
  values: {
    READ: { value: 'read', description: 'Browse, search and download.' },
    WRITE: { value: 'write', description: 'Also publish, and manage own packages.' },
    ADMIN: { value: 'admin', description: "Also administer the server, if the owner's role allows it." },
  } satisfies Record<Uppercase<Scope>, { value: Scope; description: string }>,
})
