import type { Context } from '../../platform/access/context.ts'
import { insufficientPermissions, notFound } from '../../errors.ts'
import { ok, route } from '../../platform/rest/route.ts'
import { unknownPublisher } from '../publishers/service.ts'
import { tokenFields } from '../../accounts/tokens/refs.ts'

const fields = 'id: uuid name address role isActive createdAt publisher @flatten { publisherId: slug } publisherRole'
const account = `serviceAccount { ${fields} }`
const ofAccount = { ids: { accountId: 'ServiceAccount' }, names: { accountId: 'serviceAccountId' } }
const ofToken = { ...ofAccount, ids: { ...ofAccount.ids, tokenId: 'AccessToken' } }
const slugIn = ({ request }: Context) => (request.params as { id: string }).id
const unknown = { serviceAccount: () => notFound('There is no service account with this id.') }
const create = `mutation ($input: CreateServiceAccountInput!) { createServiceAccount(input: $input) { ${account} } }`

export const serviceAccountRoutes = [
  route(
    'GET /api/admin/service-accounts',
    `query ($after: String) { serviceAccounts(first: 100, after: $after) { nodes { ${fields} } pageInfo { hasNextPage endCursor } } }`,
    { summary: 'The service accounts of the server and of all publishers, newest first.', allNodes: 'serviceAccounts' },
  ),
  route('POST /api/admin/service-accounts', create, {
    summary: 'Creates a service account of the server.',
    status: 201,
    fixedInput: { publisherId: null, publisherRole: null },
    caller: 'admin',
    answer: 'createServiceAccount.serviceAccount',
  }),
  route('GET /api/publishers/:id/service-accounts', `query ($id: String!) { publisher(slug: $id) { serviceAccounts { ${fields} } } }`, {
    summary: 'Service accounts of a publisher, for its admins.',
    answer: 'publisher',
    required: {
      publisher: (context) => unknownPublisher(slugIn(context)),
      'publisher.serviceAccounts': (context) => insufficientPermissions(`You do not administer the publisher ${slugIn(context)}.`),
    },
  }),
  route('POST /api/publishers/:id/service-accounts', create, {
    summary: 'Creates a service account of a publisher, for its admins.',
    status: 201,
    ids: { id: 'Publisher' },
    names: { id: 'publisherId' },
    answer: 'createServiceAccount.serviceAccount',
  }),
  route('GET /api/service-accounts/:accountId', `query ($accountId: ID!) { serviceAccount(accountUuid: $accountId) { ${fields} } }`, {
    summary: 'A service account that you manage.',
    answer: 'serviceAccount',
    required: unknown,
  }),
  route(
    'PUT /api/service-accounts/:accountId',
    `mutation ($input: UpdateServiceAccountInput!) { updateServiceAccount(input: $input) { ${account} } }`,
    {
      summary: 'Renames a service account, changes its roles, or disables or enables it.',
      ...ofAccount,
      answer: 'updateServiceAccount.serviceAccount',
    },
  ),
  route(
    'DELETE /api/service-accounts/:accountId',
    'mutation ($input: DeleteServiceAccountInput!) { deleteServiceAccount(input: $input) { deletedServiceAccountId } }',
    { summary: 'Deletes a service account and its tokens.', ...ofAccount, answer: ok },
  ),
  route(
    'GET /api/service-accounts/:accountId/tokens',
    `query ($accountId: ID!, $after: String) {
      serviceAccount(accountUuid: $accountId) { tokens(first: 100, after: $after) { nodes { ${tokenFields} lastUsedAt } pageInfo { hasNextPage endCursor } } }
    }`,
    {
      summary: 'Tokens of a service account, newest first, without their secrets.',
      allNodes: 'serviceAccount.tokens',
      answer: 'serviceAccount',
      required: unknown,
    },
  ),
  route(
    'POST /api/service-accounts/:accountId/tokens',
    `mutation ($input: CreateServiceAccountTokenInput!) { createServiceAccountToken(input: $input) { secret token @flatten { ${tokenFields} } } }`,
    {
      summary: 'Creates a token of a service account; the secret is shown only once.',
      status: 201,
      ...ofAccount,
      answer: 'createServiceAccountToken',
    },
  ),
  route(
    'POST /api/service-accounts/:accountId/tokens/:tokenId/rotate',
    `mutation ($input: RotateServiceAccountTokenInput!) { rotateServiceAccountToken(input: $input) { secret token @flatten { ${tokenFields} previousSecretExpiresAt } } }`,
    {
      summary:
        'Gives a token of a service account a new secret, shown only once. The previous one works for the overlap, 24 hours by default.',
      ...ofToken,
      answer: 'rotateServiceAccountToken',
    },
  ),
  route(
    'DELETE /api/service-accounts/:accountId/tokens/:tokenId',
    'mutation ($input: RevokeServiceAccountTokenInput!) { revokeServiceAccountToken(input: $input) { token { id } } }',
    { summary: 'Revokes a token of a service account.', ...ofToken, answer: ok },
  ),
]
