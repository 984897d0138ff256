import SchemaBuilder, { brandWithType, type SchemaTypes } from '@pothos/core'
import RelayPlugin, { decodeGlobalID, encodeGlobalID } from '@pothos/plugin-relay'
import ScopeAuthPlugin from '@pothos/plugin-scope-auth'
import ValidationPlugin from '@pothos/plugin-validation'
import WithInputPlugin from '@pothos/plugin-with-input'
import type { Context, SignedInContext } from '../access/context.ts'
import { idOf } from '../db/base.ts'
import { missingAccess } from '../access/guards.ts'
import { invalidInput, notFound } from '../../errors.ts'
import type { Scope } from '../access/roles.ts'
import { canActAsOwner, canBrowse, canChangeOwnAccount, holdsScope, isFreeToAct } from '../access/policy.ts'

type AnyTypes = SchemaTypes & { outputShapes: Record<string, unknown> }

/**
 * The Pothos builder of the whole schema. `Query` and `Mutation` fields require a signed-in caller by default. Fields use these options:
 * - `skipTypeScopes: true`: public, no signed-in caller required.
 * - `extensions: { beforeSetup: true }`: available before the first owner exists.
 * - `extensions: { ownOrigin: true }`: needs no CSRF token, but rejects requests from pages of other sites.
 * - `extensions: { limit }`: name of the rate limit per client address (root fields only).
 * - `extensions: { admit }`: check that runs before the rate limit (root fields only).
 * - `extensions: { secret: true }`: returns a secret, so the response is not compressed.
 * - `extensions: { isGraphqlOnly: true }`: input field that REST does not have.
 * - `extensions: { guarded: true }`: the resolver checks the caller, so the field is nullable (fields below the root).
 * - `extensions: { formerName }`: deprecated name that an argument or input field also has; `{ formerResult }` for fields (see former-schema.ts).
 * - `extensions: { maxLength }`: maximum length of a string argument or input field; 1,024 characters by default (see field-guards.ts).
 */
export const builder = new SchemaBuilder<{
  Context: Context
  AuthScopes: {
    /** Signed in with any credential, even if a password change is required. */
    identity: boolean
    /** Signed in, and no password change is required. */
    signedIn: boolean
    /** Authenticated by a session, not by a token. */
    session: boolean
    /** May change their own account and read its sessions, tokens and history: any session, or a token with write access. */
    ownAccount: boolean
    /** May read packages: all of them with the scope `read`; public ones without signing in, if anonymous browsing is enabled. */
    browse: boolean
    /** The credential has this scope, and the user's current role allows it. `admin` is for server administrators. */
    scope: Scope
    /** The server's owner, with the scope `admin`. */
    owner: boolean
  }
  AuthContexts: Record<'identity' | 'signedIn' | 'ownAccount' | 'session' | 'scope' | 'owner', SignedInContext>
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    BigInt: { Input: number; Output: number }
    JSON: { Input: object; Output: object }
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
    unauthorizedError: (_parent, context, _info, result) => missingAccess(context, result.failure),
  },
  relay: {
    cursorType: 'String',
    encodeGlobalID: (type, id) => encodeGlobalID(type, String(id)),
    decodeGlobalID: (globalId) => {
      const { typename, id } = decodeGlobalID(globalId)
      const plain = plainIds[typename]
      const known = plain ? (plain.test(id) ? id : null) : idOf(id)
      if (known === null) throw notFound('No object has this id.')
      return { typename, id: known }
    },
    nodesOnConnection: { description: 'The objects of this page, without their edges.' },
    nodeTypeOptions: { description: 'Anything that has a global id.' },
    idFieldOptions: { description: 'Global id: opaque, and unique across all types.' },
    nodeQueryOptions: {
      description: 'The object with this global id, or null if it does not exist or you may not see it.',
      skipTypeScopes: true,
      authScopes: (_root, { id }) => scopeOfIds([id]),
    },
    nodesQueryOptions: {
      description: 'The objects with these global ids, in the same order.',
      skipTypeScopes: true,
      authScopes: (_root, { ids }) => scopeOfIds(ids),
      // Pothos sets the type of a node only for the first field that requests it; a concurrent field that requests the same node would fail.
      async resolve(_root, { ids }, _context, _info, resolveNodes) {
        const nodes = await resolveNodes(ids)
        return ids.map(async ({ typename }, index) => {
          const node = await nodes[index]
          brandWithType<AnyTypes>(node, typename)
          return node
        })
      },
    },
    pageInfoTypeOptions: { description: 'Position of a page in a connection.' },
    hasNextPageFieldOptions: { description: 'Whether there is a next page.' },
    hasPreviousPageFieldOptions: { description: 'Whether there is a previous page.' },
    startCursorFieldOptions: { description: 'Cursor of the first edge.' },
    endCursorFieldOptions: { description: 'Cursor of the last edge. Pass it as `after` to get the next page.' },
    pageInfoFieldOptions: { description: 'Position of this page.' },
    cursorFieldOptions: { description: 'Opaque position of this edge.' },
    nodeFieldOptions: { description: 'The object.' },
    edgesFieldOptions: { description: 'The objects of this page with their cursors.' },
    firstArgOptions: { description: 'Number of objects, from 1 to 100. Required.' },
    afterArgOptions: { description: 'Return objects after this cursor.' },
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

/** Types whose ids are not UUIDs, with the pattern that an id must match before it is used in a query. */
const plainIds: Record<string, RegExp> = { Publisher: /^[a-z0-9.-]{1,64}$/, OidcProvider: /^[a-z0-9_]{1,32}$/ }

/** Types that are readable without signing in if anonymous browsing is enabled. Their `loadOne` returns only public objects to anonymous callers. */
const browsable = new Set(['Package', 'PackageVersion'])

/** Returns the scope required to load nodes by id: objects of other types require a signed-in caller. */
const scopeOfIds = (ids: { typename: string }[]): { browse: true } | { signedIn: true } =>
  ids.every(({ typename }) => browsable.has(typename)) ? { browse: true } : { signedIn: true }

builder.queryType({ description: 'Read operations.', authScopes: { signedIn: true } })
builder.mutationType({ description: 'Write operations.', authScopes: { signedIn: true } })
builder.subscriptionType({ description: 'Subscriptions, sent as server-sent events.', authScopes: { signedIn: true } })

builder.globalConnectionField('totalCount', (t) =>
  t.int({
    extensions: { cost: 5 },
    description: 'Total number of objects. Counted only if this field is requested.',
    resolve: ({ totalCount }) => (typeof totalCount === 'function' ? totalCount() : totalCount),
  }),
)
