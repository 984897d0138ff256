import { builder } from '../graphql/builder.ts'
import type { Scope } from '../roles/roles.ts'

export const TokenScope = builder.enumType('TokenScope', {
  description: 'What a token may do; each scope includes the ones before it.',
  values: {
    READ: { value: 'read', description: 'Browse, search and download.' },
    WRITE: { value: 'write', description: 'Also publish and change own packages.' },
    ADMIN: { value: 'admin', description: 'Also administer the server, as far as the role goes.' },
  } satisfies Record<Uppercase<Scope>, { value: Scope; description: string }>,
})
