import { z } from 'zod'
import { label } from '../../accounts/users/input.ts'
import { basePath } from '../../platform/http/public-url.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { logoPath, readIdentity } from '../../platform/settings/identity.ts'
import { ServerRef } from '../checks/refs.ts'
import { removeLogo, updateIdentity } from './service.ts'
import { hostedHere } from '../../registry/packages/hosting.ts'
import type { ServerAddress } from '../../registry/packages/entity.ts'
import { listAddresses } from './addresses.ts'

builder.objectFields(ServerRef, (t) => ({
  name: t.string({
    description: 'Name of the registry, which administrators choose.',
    resolve: async (_server, _args, { database }) => (await readIdentity(database.reads)).name,
  }),
  description: t.string({
    description: 'What the registry contains, in one sentence; may be empty.',
    resolve: async (_server, _args, { database }) => (await readIdentity(database.reads)).description,
  }),
  logoUrl: t.string({
    nullable: true,
    description: 'Path of the logo, 512×512 pixels, relative to the host; null for the built-in logo. It changes with the logo.',
    resolve: async (_server, _args, { config, database }) => {
      const path = logoPath(await readIdentity(database.reads))
      return path && `${basePath(config.SERVER_URL)}${path}`
    },
  }),
}))

const RegistryPayload = payload('RegistryPayload', 'The server after the change.', {
  server: { type: ServerRef, description: 'The server.' },
})

const textOrEmpty = (maxLength: number) => z.union([z.string().trim().length(0), label(maxLength)]).nullish()

builder.mutationField('updateRegistry', (t) =>
  t.withAuth({ scope: 'admin' }).fieldWithInput({
    type: RegistryPayload,
    description: 'Changes the name and the description of the registry. For administrators.',
    typeOptions: { description: 'New texts. Omitted fields do not change.' },
    argOptions: { description: 'The texts.' },
    input: {
      name: t.input.string({ description: 'Name, at most 40 characters; empty to restore the built-in name.', validate: textOrEmpty(40) }),
      description: t.input.string({ description: 'One sentence, at most 200 characters; may be empty.', validate: textOrEmpty(200) }),
    },
    resolve: async (_root, { input }, context) => {
      await updateIdentity(context, input)
      return { server: {} }
    },
  }),
)

builder.mutationField('removeRegistryLogo', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: RegistryPayload,
    description: 'Restores the built-in logo. For administrators. Upload a logo with `POST /api/admin/logo`.',
    resolve: async (_root, _args, context) => {
      await removeLogo(context)
      return { server: {} }
    },
  }),
)

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
