import { z } from 'zod'
import { builder } from '../../platform/graphql/builder.ts'
import { wordEnum } from '../../platform/graphql/payload.ts'
import { label } from '../users/input.ts'
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

const lifetimeDays = z.int().min(1, 'must be at least 1').max(3650, 'must be at most 3650').nullish()

/** Returns the input fields of a new token. `role` names the role that limits its scopes. */
export const tokenInputs = (t: InputFields, role: string) => ({
  name: t.string({ required: true, description: 'Name of the token.', validate: label(100) }),
  scopes: t.field({
    type: [TokenScope],
    description: `Scopes of the token, limited to what ${role} allows. Default: READ and WRITE, or READ if that is the only action.`,
  }),
  packages: t.stringList({ description: `${limitTexts.packages} Default: all packages.`, validate: packagesInput }),
  actions: t.field({
    type: [TokenActionEnum],
    description: `${limitTexts.actions} They cannot be combined with the scope ADMIN. Default: what the scopes allow.`,
    validate: actionsInput,
  }),
  addresses: t.stringList({ description: `${limitTexts.addresses} Default: all addresses.`, validate: addressesInput }),
  expiresInDays: t.int({
    description:
      'Lifetime in days. Default: the maximum that the server allows (Server.tokenMaxDays), or no expiry if there is no maximum.',
    validate: lifetimeDays,
  }),
})

/** The input field for a token. */
export const tokenId = { required: true as const, for: [AccessTokenRef], description: 'Global id of the token.' }

/** Returns the input fields of a rotation. */
export const rotationInputs = (t: InputFields) => ({
  tokenId: t.globalID(tokenId),
  overlapHours: t.int({
    description: 'For how many hours the previous secret still works: 0 to 168. Default: 24.',
    validate: z.int().min(0, 'must be from 0 to 168').max(168, 'must be from 0 to 168').nullish(),
  }),
  expiresInDays: t.int({
    description: 'New lifetime in days from now. Default: the expiry stays as it is, within the maximum that the server allows.',
    validate: lifetimeDays,
  }),
})

const issuedToken = (secret: string, token: string) => ({
  secret: { extensions: { secret: true }, type: 'String', description: secret } as const,
  token: { type: AccessTokenRef, description: token },
})

/** The fields of the payloads of new and of rotated tokens. */
export const createdToken = issuedToken('The secret, shown only once.', 'The token itself.')
export const rotatedToken = issuedToken('The new secret, shown only once.', 'The token, with its other properties unchanged.')
