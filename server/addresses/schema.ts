import { builder } from '../graphql/builder.ts'
import { hostedHere } from '../packages/hosting/hosted-here.ts'
import type { ServerAddress } from '../packages/hosting/address-entity.ts'
import { listAddresses } from './service.ts'

const ServerAddressRef = builder.objectRef<ServerAddress>('ServerAddress').implement({
  description: 'An address that counts as this server: the one that it has, or one that it had before.',
  fields: (t) => ({
    address: t.exposeString('address', { description: 'The address, as dependencies name it.' }),
    isCurrent: t.boolean({
      description: 'Whether the server has it now (SERVER_URL).',
      resolve: ({ address }, _args, { config }) => address === hostedHere(config),
    }),
    firstUsedAt: t.expose('firstUsedAt', { type: 'DateTime', description: 'When it was first used.' }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', description: 'When the server last started under it.' }),
  }),
})

builder.queryField('serverAddresses', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: [ServerAddressRef],
    description:
      'The addresses that count as this server in dependencies and `publish_to`, for administrators. The operator forgets former ones with `npm run admin -- forget-address`.',
    resolve: (_root, _args, { em }) => listAddresses(em),
  }),
)
