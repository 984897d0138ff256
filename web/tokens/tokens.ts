import type { Ref } from 'vue'
import {
  CreateTokenDocument,
  type CreateTokenInput,
  RevokeTokenDocument,
  RotateTokenDocument,
  type TokenAction,
  type TokenRowFragment,
  TokensDocument,
  type TokenScope,
} from '../generated/graphql.ts'
import { type Failure, useMutation } from '../graphql.ts'
import { useCursorList, withRows } from '../shared/cursor-list.ts'
import { actionNames } from './purposes.ts'

const dayMs = 86_400_000

/** Returns a page of the viewer's tokens, expired ones last. The URL holds the cursor. */
export const useTokens = () =>
  useCursorList({
    document: TokensDocument,
    variables: (after) => ({ after }),
    connection: (data) =>
      withRows(data.me?.tokens, (nodes) => nodes.toSorted((one, other) => Number(isExpired(one)) - Number(isExpired(other)))),
  })

/** A token with its secret, which the server returns only once. */
export interface IssuedToken {
  secret: string
  token: TokenRowFragment
}

interface Change {
  running: Ref<boolean>
  failure: Ref<Failure | undefined>
}
/** Creates a token of the viewer or of a service account. */
export interface TokenCreation extends Change {
  run: (token: CreateTokenInput) => Promise<IssuedToken | undefined>
}
/** Gives a token a new secret. */
export interface TokenRotation extends Change {
  run: (id: string, overlapHours: number) => Promise<IssuedToken | undefined>
}

export function useCreateToken(): TokenCreation {
  const { run, ...state } = useMutation(CreateTokenDocument)
  return { ...state, run: async (input) => (await run({ input }))?.createToken }
}
export function useRotateToken(): TokenRotation {
  const { run, ...state } = useMutation(RotateTokenDocument)
  return { ...state, run: async (id, overlapHours) => (await run({ id, overlapHours }))?.rotateToken }
}
export const useRevokeToken = () => useMutation(RevokeTokenDocument)

const isPast = (moment: string) => Date.parse(moment) <= Date.now()
export const isExpired = ({ expiresAt }: TokenRowFragment) => expiresAt != null && isPast(expiresAt)

/** Whether the secret before the last rotation still works. */
export const isRotating = ({ previousSecretExpiresAt }: TokenRowFragment) =>
  previousSecretExpiresAt != null && !isPast(previousSecretExpiresAt)

/** Whether the token expires within two weeks. */
export const isExpiring = (token: TokenRowFragment) =>
  token.expiresAt != null && !isExpired(token) && Date.parse(token.expiresAt) - Date.now() <= 14 * dayMs

/** Labels of scopes. Each scope includes the scopes before it. */
export const access = {
  READ: { label: 'Read', description: 'Browse, search and download packages.' },
  WRITE: { label: 'Manage packages', description: 'Also publish new versions and manage your packages.' },
  ADMIN: { label: 'Administer', description: 'Also everything that your role allows on this server.' },
} satisfies Record<TokenScope, { label: string; description: string }>

const strongestFirst = ['ADMIN', 'WRITE', 'READ'] as const
const list = new Intl.ListFormat('en-GB')

/** Describes what a token may do: "Read and publish". */
export function accessOf({ scopes, actions }: TokenRowFragment): { label: string; description: string } {
  if (!actions) return access[strongestFirst.find((scope) => scopes.includes(scope)) ?? 'READ']
  const names = Object.entries(actionNames).filter(([action]) => actions.includes(action as TokenAction))
  const label = list.format(names.map(([, name], at) => (at === 0 ? name : name.toLowerCase())))
  return { label, description: 'The token may do nothing else.' }
}
