import SchemaBuilder, { brandWithType, type SchemaTypes } from '@pothos/core'
import RelayPlugin, { decodeGlobalID, encodeGlobalID } from '@pothos/plugin-relay'
import ScopeAuthPlugin from '@pothos/plugin-scope-auth'
import ValidationPlugin from '@pothos/plugin-validation'
import WithInputPlugin from '@pothos/plugin-with-input'
import type { Context, SignedInContext } from '../access/context.ts'
import { idOf } from '../db/base.ts'
import { refusal } from '../access/refusal.ts'
import { invalidInput, notFound } from '../errors.ts'
import type { Scope } from '../roles/roles.ts'
import { canActAsOwner, canBrowse, canChangeOwnAccount, holdsScope, isFreeToAct } from '../access/policy.ts'

/** Types by whatever name. */
type AnyTypes = SchemaTypes & { outputShapes: Record<string, unknown> }

/**
 * The one Pothos builder. `Query` and `Mutation` want a signed-in caller; a field that is open to everybody says `skipTypeScopes: true`,
 * one that is needed before the first owner exists says `extensions: { beforeSetup: true }`, and one that needs no session's CSRF token,
 * but refuses what another site's page sent, says `extensions: { ownOrigin: true }`. A root field names the rate limit of an address that it
 * counts in as `extensions: { limit }`, and what refuses a request before that as `extensions: { admit }`. A field that gives out a secret
 * says `extensions: { secret: true }`. A text argument or input field that takes other than at most 1,024 characters
 * (arguments.ts) says how many as `extensions: { maxLength }`.
 */
export const builder = new SchemaBuilder<{
  Context: Context
  AuthScopes: {
    /** Somebody is signed in, whatever their credential may do, even when a new password is due. */
    identity: boolean
    /** Somebody is signed in and free to act. */
    signedIn: boolean
    /** The request rides on a session. */
    session: boolean
    /** May change their own account, and see its sessions, tokens and history: any session, or a token that may write. */
    ownAccount: boolean
    /** May read packages: with the scope `read` every one; without signing in public ones, where and while the server lets anybody browse. */
    browse: boolean
    /** The credential holds this scope, and its owner's role allows it now. `admin` means: administers the server. */
    scope: Scope
    /** The server's owner, with an admin credential. */
    owner: boolean
  }
  AuthContexts: {
    identity: SignedInContext
    signedIn: SignedInContext
    ownAccount: SignedInContext
    session: SignedInContext
    scope: SignedInContext
    owner: SignedInContext
  }
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    BigInt: { Input: number; Output: number }
    SemVer: { Input: string; Output: string }
    URL: { Input: string; Output: string }
  }
  DefaultFieldNullability: false
  DefaultNodeNullability: false
  DefaultEdgesNullability: false
  Connection: { totalCount: number | (() => Promise<number>) }
}>({
  plugins: [ScopeAuthPlugin, RelayPlugin, ValidationPlugin, WithInputPlugin],
  defaultFieldNullability: false,
  scopeAuth: {
    authorizeOnSubscribe: true,
    authScopes: (context) => ({
      identity: context.viewer !== null,
      signedIn: isFreeToAct(context),
      session: context.credential?.kind === 'session',
      ownAccount: canChangeOwnAccount(context),
      browse: () => canBrowse(context),
      scope: (scope) => holdsScope(context, scope),
      owner: canActAsOwner(context),
    }),
    unauthorizedError: (_parent, context, _info, result) => refusal(context, result.failure),
  },
  relay: {
    cursorType: 'String',
    encodeGlobalID: (type, id) => encodeGlobalID(type, String(id)),
    decodeGlobalID: (globalId) => {
      const { typename, id } = decodeGlobalID(globalId)
      const plain = plainIds[typename]
      const known = plain ? (plain.test(id) ? id : null) : idOf(id)
      if (known === null) throw notFound('There is nothing with this id.')
      return { typename, id: known }
    },
    nodesOnConnection: { description: 'The objects of this page, without their edges.' },
    nodeTypeOptions: { description: 'Anything that has a global id.' },
    idFieldOptions: { description: 'Global id: opaque, and unique across all types.' },
    nodeQueryOptions: {
      description: 'The object with this global id, or null when it is not there or not for you.',
      skipTypeScopes: true,
      authScopes: (_root, { id }) => scopeOfIds([id]),
    },
    nodesQueryOptions: {
      description: 'The objects with these global ids, in their order.',
      skipTypeScopes: true,
      authScopes: (_root, { ids }) => scopeOfIds(ids),
      // Pothos notes the type of a node only for the first field that asks for it, and has another one that asks at the same time go without.
      async resolve(_root, { ids }, _context, _info, resolveNodes) {
        const nodes = await resolveNodes(ids)
        return ids.map(async ({ typename }, index) => {
          const node = await nodes[index]
          brandWithType<AnyTypes>(node, typename)
          return node
        })
      },
    },
    pageInfoTypeOptions: { description: 'Where a page of a connection lies.' },
    hasNextPageFieldOptions: { description: 'Whether there is more after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether there is something before this page.' },
    startCursorFieldOptions: { description: 'Cursor of the first edge.' },
    endCursorFieldOptions: { description: 'Cursor of the last edge; give it as `after` for the next page.' },
    pageInfoFieldOptions: { description: 'Where this page lies.' },
    cursorFieldOptions: { description: 'Opaque position of this edge.' },
    nodeFieldOptions: { description: 'The object.' },
    edgesFieldOptions: { description: 'The objects of this page with their cursors.' },
    firstArgOptions: { description: 'How many to give from the start, at most 100.' },
    lastArgOptions: { description: 'How many to give from the end, at most 100.' },
    afterArgOptions: { description: 'Give what comes after this cursor.' },
    beforeArgOptions: { description: 'Give what comes before this cursor.' },
  },
  withInput: { typeOptions: { name: ({ fieldName }) => `${fieldName.charAt(0).toUpperCase()}${fieldName.slice(1)}Input` } },
  validation: {
    validationError: ({ issues }) => {
      const issue = issues[0]
      const path = issue?.path?.map((part) => String(typeof part === 'object' ? part.key : part)).filter((part) => part !== 'input') ?? []
      const field = path.join('.')
      return invalidInput(field ? `${field}: ${issue?.message}` : (issue?.message ?? 'The input is not valid.'), field || undefined)
    },
  },
})

/** Types whose ids are no UUIDs, and what their ids look like: no other text reaches a query. */
const plainIds: Record<string, RegExp> = { Publisher: /^[a-z0-9.-]{1,64}$/ }

/** The types that anybody may read where the server lets anybody browse; their `loadOne` gives public ones only. */
const browsable = new Set(['Package', 'PackageVersion'])

/** Ids of anything else are for people who signed in. */
const scopeOfIds = (ids: { typename: string }[]): { browse: true } | { signedIn: true } =>
  ids.every(({ typename }) => browsable.has(typename)) ? { browse: true } : { signedIn: true }

builder.queryType({ description: 'Everything that can be read.', authScopes: { signedIn: true } })
builder.mutationType({ description: 'Everything that can be changed.', authScopes: { signedIn: true } })
builder.subscriptionType({ description: 'Everything that can be watched, as server-sent events.', authScopes: { signedIn: true } })

builder.globalConnectionField('totalCount', (t) =>
  t.int({
    extensions: { cost: 5 },
    description: 'Total number. It is counted only when this field is requested.',
    resolve: ({ totalCount }) => (typeof totalCount === 'function' ? totalCount() : totalCount),
  }),
)
