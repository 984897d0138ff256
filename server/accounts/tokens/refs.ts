import { builder } from '../../platform/graphql/builder.ts'
import { wordEnum } from '../../platform/graphql/payload.ts'
import type { AccessToken } from './entity.ts'
import { actionsInput, addressesInput, packagesInput } from './limits.ts'
import type { Scope, TokenAction } from '../../platform/access/roles.ts'

/** The GraphQL type of tokens. Its fields are defined separately, because other features refer to it. */
export const AccessTokenRef = builder.objectRef<AccessToken>('AccessToken')

/** The fields of a token in REST responses. */
export const tokenFields = 'id: uuid name prefix scopes packages @omitNull actions @omitNull addresses @omitNull createdAt expiresAt'

export const TokenScope = builder.enumType('TokenScope', {
  description: 'Permissions of a token. Each scope includes the previous ones.',
  values: {
    READ: { value: 'read', description: 'Browse, search and download.' },
    WRITE: { value: 'write', description: 'Also publish, and manage own packages.' },
    ADMIN: { value: 'admin', description: "Also administer the server, if the owner's role allows it." },
  } satisfies Record<Uppercase<Scope>, { value: Scope; description: string }>,
})

export const TokenActionEnum = wordEnum<TokenAction>('TokenAction', 'What a narrowed token may do with packages.', {
  read: 'Download packages, and read what the server knows about them.',
  publish: 'Publish versions.',
  retract: 'Retract and restore versions.',
})

/** Descriptions of the limits of tokens. */
export const limitTexts = {
  packages:
    'Packages to which the token is limited: names, in which `*` stands for any characters. Such a token cannot list or search packages.',
  actions: 'Actions to which the token is limited. Everything that they do not include is refused.',
  addresses: 'IP addresses, and ranges in CIDR notation, to which clients that use the token are limited.',
}

type InputFields = PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>

/** Returns the input fields for the limits of a new token. */
export const limitInputs = (t: InputFields) => ({
  packages: t.stringList({ description: `${limitTexts.packages} Default: all packages.`, validate: packagesInput }),
  actions: t.field({
    type: [TokenActionEnum],
    description: `${limitTexts.actions} They cannot be combined with the scope ADMIN. Default: what the scopes allow.`,
    validate: actionsInput,
  }),
  addresses: t.stringList({ description: `${limitTexts.addresses} Default: all addresses.`, validate: addressesInput }),
})
