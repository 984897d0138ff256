import { canActAsOwner, holdsScope } from '../../platform/access/policy.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { version } from '../../platform/config/version.ts'

const Server = builder.objectRef<object>('Server').implement({
  description: 'This server.',
  fields: (t) => ({
    version: t.string({ description: 'Version of the server.', resolve: () => version }),
    url: t.field({
      type: 'URL',
      description: 'Public URL of the server, as package clients use it.',
      resolve: (_server, _args, { request, config }) => publicUrl(request, config.SERVER_URL),
    }),
    passwordMinLength: t.int({
      description: 'Minimum length of a password, in characters.',
      resolve: (_server, _args, { config }) => config.PASSWORD_MIN_LENGTH,
    }),
    tokenMaxDays: t.int({
      nullable: true,
      description: 'Maximum lifetime of a new access token in days; null if tokens may have no expiration.',
      resolve: (_server, _args, { config }) => config.TOKEN_MAX_DAYS ?? null,
    }),
    queriesNeedToken: t.boolean({
      description:
        'Whether custom GraphQL queries require an access token. Other requests may then only use the operations of the console.',
      resolve: (_server, _args, { config }) => config.GRAPHQL_FREE_QUERIES === 'tokens',
    }),
    viewerCanAdminister: t.boolean({
      description: 'Whether you may administer the server.',
      resolve: (_server, _args, context) => holdsScope(context, 'admin'),
    }),
    viewerCanTransferOwnership: t.boolean({
      description: 'Whether you own the server and may transfer its ownership to another administrator.',
      resolve: (_server, _args, context) => canActAsOwner(context),
    }),
  }),
})

builder.queryField('server', (t) =>
  t.field({
    type: Server,
    description: 'This server: its version, its URL, and your permissions.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true },
    resolve: () => ({}),
  }),
)
