import { encodeGlobalID } from '@pothos/plugin-relay'
import { label } from '../../accounts/users/input.ts'
import { UserRef, assignableRoles, RoleEnum } from '../../accounts/users/refs.ts'
import { AccessTokenRef, createdToken, rotatedToken, rotationInputs, tokenId, tokenInputs } from '../../accounts/tokens/refs.ts'
import { listTokens } from '../../accounts/tokens/service.ts'
import type { Context } from '../../platform/access/context.ts'
import { viewerCan } from '../../platform/access/policy.ts'
import { idOf } from '../../platform/db/base.ts'
import { newestByDefault } from '../../platform/graphql/types.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { connectionOf, done, payload } from '../../platform/graphql/payload.ts'
import { loadMembers, loadMemberships, loadPublisher } from '../publishers/list.ts'
import { PublisherRef, PublisherRoleEnum } from '../publishers/refs.ts'
import { canManageServiceAccounts, canSeeServiceAccounts } from './policy.ts'
import {
  createServiceAccount,
  createServiceAccountToken,
  deleteServiceAccount,
  findServiceAccount,
  listServiceAccounts,
  revokeServiceAccountToken,
  rotateServiceAccountToken,
  type ServiceAccount,
  updateServiceAccount,
} from './service.ts'

const ServiceAccountRef = builder.objectRef<ServiceAccount>('ServiceAccount')

const ServiceAccountRoleEnum = builder.enumType('ServiceAccountRole', {
  description: 'Role of a service account on this server. No service account administers it.',
  values: { VIEWER: assignableRoles.VIEWER, MEMBER: assignableRoles.MEMBER },
})

/** Returns the membership by which an account belongs to a publisher; null for an account of the server. */
const membershipOf = async (context: Context, { user }: ServiceAccount) => (await loadMemberships(context, user.id))?.[0] ?? null

/** Returns the account if the caller may see it, otherwise null. */
async function seen(context: Context, id: string): Promise<ServiceAccount | null> {
  const account = await findServiceAccount(context.em, id)
  const owner = account && ((await membershipOf(context, account))?.publisher ?? null)
  return account && (await viewerCan(context, canSeeServiceAccounts, owner)) ? account : null
}

builder.node(ServiceAccountRef, {
  description: 'An account of a program, such as a CI system. It has tokens, but no password and no sessions.',
  id: { resolve: ({ user }) => user.id },
  loadOne: (id, context) => seen(context, id),
  fields: (t) => ({
    uuid: t.id({ description: 'The plain identifier, which REST returns as `id`.', resolve: ({ user }) => user.id }),
    name: t.string({ description: 'The name.', resolve: ({ user }) => user.displayName }),
    address: t.string({
      description: 'Address to add the account to the uploaders of a package with. No mail can be sent to it.',
      resolve: ({ user }) => user.email,
    }),
    role: t.field({ type: RoleEnum, description: 'Role on this server.', resolve: ({ user }) => user.role }),
    isActive: t.boolean({
      description: 'False if the account is disabled, so that its tokens are rejected.',
      resolve: ({ user }) => user.isActive,
    }),
    createdAt: t.field({ type: 'DateTime', description: 'When the account was created.', resolve: ({ user }) => user.createdAt }),
    user: t.field({
      type: UserRef,
      description: 'The account as lists of members, uploaders and events show it.',
      resolve: ({ user }) => user,
    }),
  }),
})

builder.objectFields(ServiceAccountRef, (t) => ({
  publisher: t.field({
    type: PublisherRef,
    nullable: true,
    description: 'The publisher that the account belongs to; null if it belongs to the server.',
    resolve: async (account, _args, context) => {
      const membership = await membershipOf(context, account)
      return membership && loadPublisher(context, membership.publisher.id)
    },
  }),
  publisherRole: t.field({
    type: PublisherRoleEnum,
    nullable: true,
    description: 'Role in the publisher; null if the account belongs to the server.',
    resolve: async (account, _args, context) => (await membershipOf(context, account))?.role ?? null,
  }),
  viewerCanManage: t.boolean({
    description: 'Whether you can change and delete the account, and create and revoke its tokens.',
    resolve: async (account, _args, context) =>
      viewerCan(context, canManageServiceAccounts, (await membershipOf(context, account))?.publisher ?? null),
  }),
  tokens: t.connection(
    {
      type: AccessTokenRef,
      description: 'Tokens of the account that are not revoked, newest first.',
      args: { direction: t.arg(newestByDefault) },
      resolve: ({ user }, { direction, ...page }, { em }) =>
        listTokens(em, { user: user.id }, page, { by: 'created', direction: direction ?? 'desc' }),
    },
    connectionOf(AccessTokenRef),
  ),
}))

builder.objectField(PublisherRef, 'serviceAccounts', (t) =>
  t.field({
    extensions: { size: 10 },
    type: [ServiceAccountRef],
    nullable: true,
    description: 'Service accounts of the publisher by name. Null except for admins of the publisher and administrators.',
    resolve: async (publisher, _args, context) => {
      if (!(await viewerCan(context, canSeeServiceAccounts, publisher))) return null
      const members = (await loadMembers(context, publisher.id)) ?? []
      return members.filter(({ user }) => user.kind === 'service').map(({ user }) => ({ user }))
    },
  }),
)

builder.queryField('serviceAccounts', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: ServiceAccountRef,
      description: 'The service accounts of this server and of all publishers, newest first; for administrators.',
      args: {
        belongsToServer: t.arg.boolean({ description: 'True: only accounts of the server; false: only accounts of publishers.' }),
        direction: t.arg(newestByDefault),
      },
      resolve: (_root, { belongsToServer, ...page }, { em }) => listServiceAccounts(em, belongsToServer, page),
    },
    connectionOf(ServiceAccountRef),
  ),
)

builder.queryField('serviceAccount', (t) =>
  t.withAuth({ scope: 'read' }).field({
    type: ServiceAccountRef,
    nullable: true,
    description: 'The service account with this identifier; null if it does not exist or you may not see it.',
    args: { accountUuid: t.arg.id({ required: true, description: 'The plain identifier, as REST shows it.' }) },
    resolve: (_root, { accountUuid }, context) => {
      const id = idOf(accountUuid)
      return id === null ? null : seen(context, id)
    },
  }),
)

const name = label(100)
const account = { required: true, for: ServiceAccountRef, description: 'The service account.' } as const
const ServiceAccountPayload = payload('ServiceAccountPayload', 'The service account after the change.', {
  serviceAccount: { type: ServiceAccountRef, description: 'The service account.' },
})

builder.mutationField('createServiceAccount', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: ServiceAccountPayload,
    description: 'Creates a service account of a publisher, for its admins, or of the server, for administrators.',
    typeOptions: { description: 'The service account to create.' },
    argOptions: { description: 'The service account.' },
    input: {
      name: t.input.string({ required: true, description: 'The name.', validate: name }),
      role: t.input.field({
        type: ServiceAccountRoleEnum,
        description: 'Role on this server. Default: MEMBER for an account of a publisher, VIEWER for one of the server.',
      }),
      publisherId: t.input.globalID({ for: [PublisherRef], description: 'The publisher. Omit it for an account of the server.' }),
      publisherRole: t.input.field({ type: PublisherRoleEnum, description: 'Role in the publisher. Default: MEMBER.' }),
    },
    resolve: async (_root, { input: { publisherId, ...input } }, context) => ({
      serviceAccount: await createServiceAccount(context, { ...input, publisherId: publisherId?.id }),
    }),
  }),
)

builder.mutationField('updateServiceAccount', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: ServiceAccountPayload,
    description: 'Renames a service account, changes its roles, or disables or enables it. Omitted fields stay unchanged.',
    typeOptions: { description: 'The service account to change.' },
    argOptions: { description: 'The service account and the changes.' },
    input: {
      serviceAccountId: t.input.globalID(account),
      name: t.input.string({ description: 'New name.', validate: name.nullish() }),
      role: t.input.field({ type: ServiceAccountRoleEnum, description: 'New role on this server.' }),
      publisherRole: t.input.field({ type: PublisherRoleEnum, description: 'New role in the publisher.' }),
      isActive: t.input.boolean({ description: 'False disables the account: its tokens are rejected until it is enabled.' }),
    },
    resolve: async (_root, { input: { serviceAccountId, ...changes } }, context) => ({
      serviceAccount: await updateServiceAccount(context, serviceAccountId.id, changes),
    }),
  }),
)

builder.mutationField('deleteServiceAccount', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('DeleteServiceAccountPayload', 'A service account that was deleted.', {
      deletedServiceAccountId: { type: 'ID', description: 'Global id of the service account.' },
    }),
    description: 'Deletes a service account and its tokens. Published packages stay.',
    typeOptions: { description: 'The service account to delete.' },
    argOptions: { description: 'The service account.' },
    input: { serviceAccountId: t.input.globalID(account) },
    resolve: (_root, { input: { serviceAccountId } }, context) =>
      done(deleteServiceAccount(context, serviceAccountId.id), {
        deletedServiceAccountId: encodeGlobalID('ServiceAccount', serviceAccountId.id),
      }),
  }),
)

builder.mutationField('createServiceAccountToken', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('CreateServiceAccountTokenPayload', 'A new token of a service account.', createdToken),
    description: 'Creates a token of a service account. The secret is shown only once.',
    typeOptions: { description: 'The token to create.' },
    argOptions: { description: 'The service account, and name, scopes, limits and lifetime of the token.' },
    input: {
      serviceAccountId: t.input.globalID(account),
      ...tokenInputs(t.input, 'the role of the service account'),
    },
    resolve: (_root, { input: { serviceAccountId, ...input } }, context) => createServiceAccountToken(context, serviceAccountId.id, input),
  }),
)

builder.mutationField('rotateServiceAccountToken', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('RotateServiceAccountTokenPayload', 'A token with a new secret.', rotatedToken),
    description:
      'Gives a token of a service account a new secret, which is shown only once. The previous secret works until the overlap ends. A token may rotate only the tokens that were created with it.',
    typeOptions: { description: 'The token to rotate.' },
    argOptions: { description: 'The service account, its token, the overlap and the new lifetime.' },
    input: { serviceAccountId: t.input.globalID(account), ...rotationInputs(t.input) },
    resolve: (_root, { input: { serviceAccountId, tokenId, ...input } }, context) =>
      rotateServiceAccountToken(context, serviceAccountId.id, { ...input, id: tokenId.id }),
  }),
)

builder.mutationField('revokeServiceAccountToken', (t) =>
  t.withAuth({ scope: 'write' }).fieldWithInput({
    type: payload('RevokeServiceAccountTokenPayload', 'A token that was revoked.', {
      token: { type: AccessTokenRef, description: 'The revoked token.' },
    }),
    description: 'Permanently revokes a token of a service account.',
    typeOptions: { description: 'The token to revoke.' },
    argOptions: { description: 'The service account and its token.' },
    input: { serviceAccountId: t.input.globalID(account), tokenId: t.input.globalID(tokenId) },
    resolve: async (_root, { input }, context) => ({
      token: await revokeServiceAccountToken(context, input.serviceAccountId.id, input.tokenId.id),
    }),
  }),
)
