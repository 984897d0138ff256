import { canActAsOwner, holdsScope } from '../access/policy.ts'
import { builder } from '../graphql/builder.ts'
import { publicUrl } from '../http/public-url.ts'
import { version } from '../version.ts'

const Server = builder.objectRef<object>('Server').implement({
  description: 'This server.',
  fields: (t) => ({
    version: t.string({ description: 'Its version.', resolve: () => version }),
    url: t.field({
      type: 'URL',
      description: 'Its public address, as package clients write it.',
      resolve: (_server, _args, { request, config }) => publicUrl(request, config.SERVER_URL),
    }),
    passwordMinLength: t.int({
      description: 'Minimum length of a password, in characters.',
      resolve: (_server, _args, { config }) => config.PASSWORD_MIN_LENGTH,
    }),
    tokenMaxDays: t.int({
      nullable: true,
      description: 'Maximum lifetime of a new access token in days; null when tokens need not expire.',
      resolve: (_server, _args, { config }) => config.TOKEN_MAX_DAYS ?? null,
    }),
    queriesNeedToken: t.boolean({
      description:
        "Whether GraphQL of one's own is taken only with an access token; with a session or none, only the console's operations.",
      resolve: (_server, _args, { config }) => config.GRAPHQL_FREE_QUERIES === 'tokens',
    }),
    viewerCanAdminister: t.boolean({
      description: 'Whether you may administer it.',
      resolve: (_server, _args, context) => holdsScope(context, 'admin'),
    }),
    viewerCanTransferOwnership: t.boolean({
      description: 'Whether you own it, and may transfer the ownership to another administrator.',
      resolve: (_server, _args, context) => canActAsOwner(context),
    }),
  }),
})

builder.queryField('server', (t) =>
  t.field({
    type: Server,
    description: 'This server: its version, its address, and what you may do with it.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true },
    resolve: () => ({}),
  }),
)
