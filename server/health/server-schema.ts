import { builder } from '../builder.ts'
import { version } from '../version.ts'

const Server = builder.objectRef<object>('Server').implement({
  description: 'This server.',
  fields: (t) => ({
    version: t.string({ description: 'Its version.', resolve: () => version }),
    url: t.field({
      type: 'URL',
      description: 'Its public address, as package clients write it.',
      resolve: (_server, _args, { config }) => config.SERVER_URL,
    }),
  }),
})

builder.queryField('server', (t) =>
  t.field({
    type: Server,
    description: 'This server: its version and address.',
    skipTypeScopes: true,
    extensions: { beforeSetup: true },
    resolve: () => ({}),
  }),
)
