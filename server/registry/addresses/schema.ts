import { builder } from '../../platform/graphql/builder.ts'
import { hostedHere } from '../packages/hosting.ts'
import type { ServerAddress } from '../packages/entity.ts'
import { listAddresses } from './service.ts'

const ServerAddressRef = builder.objectRef<ServerAddress>('ServerAddress').implement({
  description: 'A current or former address of this server.',
  fields: (t) => ({
    address: t.exposeString('address', { description: 'The address, as used in dependencies.' }),
    isCurrent: t.boolean({
      description: 'Whether this is the current address (SERVER_URL).',
      resolve: ({ address }, _args, { config }) => address === hostedHere(config),
    }),
    firstUsedAt: t.expose('firstUsedAt', { type: 'DateTime', description: 'When the address was first used.' }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', description: 'When the server last started with this address.' }),
  }),
})

builder.queryField('serverAddresses', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: [ServerAddressRef],
    description:
      'The addresses that count as this server in dependencies and `publish_to`, for administrators. To remove a former one: `npm run admin -- forget-address`.',
    resolve: (_root, _args, { em }) => listAddresses(em),
  }),
)
