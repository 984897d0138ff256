import { publicUrl } from '../../platform/http/public-url.ts'
import { AuditEntryRef } from '../../accounts/audit/refs.ts'
import { lastDeletionOf, listAuditEntries } from '../../accounts/audit/list.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { connectionOf } from '../../platform/graphql/payload.ts'
import { newestByDefault } from '../../platform/graphql/types.ts'
import { notNegative, partOfText } from '../../platform/graphql/connections.ts'
import { insufficientPermissions } from '../../errors.ts'
import { countMembers, findPublisher, listPublishers, loadMembers } from './list.ts'
import { viewerCan } from '../../platform/access/policy.ts'
import { canAdministerPublisher, canDeletePublisher, canSeeMembers, canSeeAdministration, roleIn } from './policy.ts'
import { PublisherMemberRef, PublisherRef, PublisherRoleEnum } from './refs.ts'

/**
 * Options for fields that anonymous callers can read if browsing is enabled: the identity of the publisher of a public package. E-mail addresses,
 * members and the publisher's other packages require the scope `read`.
 */
const open = { skipTypeScopes: true, authScopes: { browse: true } } as const

builder.node(PublisherRef, {
  description: 'An organization that owns packages. Its members publish for it.',
  authScopes: { scope: 'read' },
  id: { ...open, resolve: ({ id }) => id },
  loadOne: (id, { em, scopes }) => (scopes.has('read') ? findPublisher(em, id) : null),
  fields: (t) => ({
    slug: t.exposeString('id', {
      ...open,
      description: 'Identifier of the publisher, as in its URL: a slug, or a verified domain. It never changes.',
    }),
    displayName: t.exposeString('displayName', { ...open, description: 'Display name.' }),
    description: t.exposeString('description', { ...open, description: 'Description; may be empty.' }),
    websiteUrl: t.expose('websiteUrl', { ...open, type: 'URL', nullable: true, description: 'URL of the website.' }),
    contactEmail: t.exposeString('contactEmail', { nullable: true, description: 'Contact e-mail address.' }),
    isVerified: t.exposeBoolean('isVerified', {
      ...open,
      description: 'Whether the publisher has proved that it controls the domain in its identifier.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the publisher was created.' }),
    url: t.field({
      ...open,
      type: 'URL',
      description: 'URL of the publisher page on this server.',
      resolve: ({ id }, _args, { request, config }) => `${publicUrl(request, config.SERVER_URL)}/publishers/${id}`,
    }),
  }),
})

builder.objectFields(PublisherRef, (t) => ({
  members: t.field({
    extensions: { size: 20 },
    type: [PublisherMemberRef],
    nullable: true,
    description: 'Members of the publisher by name. Null except for members and administrators.',
    resolve: async (publisher, _args, context) =>
      (await viewerCan(context, canSeeMembers, publisher)) ? ((await loadMembers(context, publisher.id)) ?? []) : null,
  }),
  memberCount: t.int({
    nullable: true,
    description: 'Number of members. Null except for members and administrators.',
    resolve: async (publisher, _args, context) =>
      (await viewerCan(context, canSeeMembers, publisher)) ? ((await countMembers(context, publisher.id)) ?? 0) : null,
  }),
  activity: t.connection(
    {
      type: AuditEntryRef,
      description: 'Activity log of the publisher, newest first. Requires permission to administer the publisher.',
      args: { direction: t.arg(newestByDefault) },
      resolve: async ({ id }, args, context) => {
        if (!(await viewerCan(context, canSeeAdministration, { id })))
          throw insufficientPermissions(`You do not administer the publisher ${id}.`)
        return listAuditEntries(context.em, { publisher: id, newerThan: await lastDeletionOf(context.em, id) }, args)
      },
    },
    connectionOf(AuditEntryRef),
  ),
}))

builder.objectFields(PublisherRef, (t) => ({
  viewerRole: t.field({
    type: PublisherRoleEnum,
    nullable: true,
    description: 'Your role in the publisher; null if you are not a member.',
    resolve: (publisher, _args, { em, viewer }) => (viewer ? roleIn(em, viewer, publisher) : null),
  }),
  viewerCanAdminister: t.boolean({
    description: 'Whether you can change the details and members of the publisher.',
    resolve: (publisher, _args, context) => viewerCan(context, canAdministerPublisher, publisher),
  }),
  viewerCanDelete: t.boolean({
    description: 'Whether you can delete the publisher once it owns no packages.',
    resolve: (publisher, _args, context) => viewerCan(context, canDeletePublisher, publisher),
  }),
}))

builder.queryField('publisher', (t) =>
  t.withAuth({ scope: 'read' }).field({
    type: PublisherRef,
    nullable: true,
    description: 'Returns the publisher with this identifier, or null.',
    args: { slug: t.arg.string({ required: true, description: 'Identifier, such as `acme` or `acme.dev`.' }) },
    resolve: (_root, { slug: id }, { em }) => findPublisher(em, id),
  }),
)

builder.queryField('publishers', (t) =>
  t.withAuth({ scope: 'read' }).connection(
    {
      type: PublisherRef,
      description: 'All publishers by identifier.',
      args: {
        query: t.arg.string({ description: 'Part of the identifier or the name, case-insensitive.', ...partOfText }),
        isVerified: t.arg.boolean({ description: 'True for only verified publishers, false for only unverified ones.' }),
        viewerIsMember: t.arg.boolean({ description: 'True for only publishers that you are a member of.' }),
        offset: t.arg.int({ description: 'Number of items to skip, for numbered pages. Cursors are cheaper.', validate: notNegative }),
      },
      resolve: (_root, { viewerIsMember, ...args }, { em, viewer }) =>
        listPublishers(em, { ...args, member: viewerIsMember ? viewer.id : null }, args),
    },
    connectionOf(PublisherRef),
  ),
)
