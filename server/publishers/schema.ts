import { publicUrl } from '../http/public-url.ts'
import { AuditEntryRef } from '../audit/refs.ts'
import { lastDeletionOf, listAuditEntries } from '../audit/list.ts'
import { builder } from '../graphql/builder.ts'
import { notNegative, partOfText } from '../graphql/connections.ts'
import { insufficientPermissions } from '../errors.ts'
import { countMembers, findPublisher, listPublishers, loadMembers } from './list.ts'
import { viewerCan } from '../access/viewer-can.ts'
import { canAdministerPublisher, canDeletePublisher, canSeeMembers, canSeePublisherActivity, roleIn } from './policy.ts'
import { PublisherMemberRef, PublisherRef, PublisherRoleEnum } from './refs.ts'

/**
 * Options for fields that anonymous callers can read if browsing is enabled: the identity of the publisher of a public package. E-mail addresses,
 * members and the publisher's other packages require the scope `read`.
 */
const open = { skipTypeScopes: true, authScopes: { browse: true } } as const

builder.node(PublisherRef, {
  description: 'An organisation that owns packages. Its members act for it.',
  authScopes: { scope: 'read' },
  id: { ...open, resolve: ({ id }) => id },
  loadOne: (id, { em, scopes }) => (scopes.has('read') ? findPublisher(em, id) : null),
  fields: (t) => ({
    slug: t.exposeString('id', {
      ...open,
      description: 'Its plain identifier, as in its address; a domain when it is verified. It never changes.',
    }),
    displayName: t.exposeString('displayName', { ...open, description: 'Name for people to read.' }),
    description: t.exposeString('description', { ...open, description: 'Description; empty when there is none.' }),
    websiteUrl: t.field({
      ...open,
      type: 'URL',
      nullable: true,
      description: 'Its website.',
      resolve: (publisher) => publisher.websiteUrl ?? null,
    }),
    contactEmail: t.string({
      nullable: true,
      description: 'Contact e-mail address.',
      resolve: (publisher) => publisher.contactEmail ?? null,
    }),
    isVerified: t.exposeBoolean('isVerified', {
      ...open,
      description: 'Whether it has proved that it holds the domain that is its identifier.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    url: t.field({
      ...open,
      type: 'URL',
      description: 'Its page on this server.',
      resolve: ({ id }, _args, { request, config }) => `${publicUrl(request, config.SERVER_URL)}/publishers/${id}`,
    }),
  }),
})

builder.objectFields(PublisherRef, (t) => ({
  members: t.field({
    extensions: { size: 20 },
    type: [PublisherMemberRef],
    nullable: true,
    description: 'The people who act for it, by name; null unless you are one of them or administer the server.',
    resolve: async (publisher, _args, context) => {
      if (!(await viewerCan(context, canSeeMembers, publisher))) return null
      return (await loadMembers(context, publisher.id)) ?? []
    },
  }),
  memberCount: t.int({
    nullable: true,
    description: 'How many they are; null where `members` is.',
    resolve: async (publisher, _args, context) => {
      if (!(await viewerCan(context, canSeeMembers, publisher))) return null
      return (await countMembers(context, publisher.id)) ?? 0
    },
  }),
}))

builder.objectFields(PublisherRef, (t) => ({
  activity: t.connection(
    {
      type: AuditEntryRef,
      description: 'What happened to it, newest first, for who administers it.',
      resolve: async ({ id }, args, context) => {
        if (!(await viewerCan(context, canSeePublisherActivity, { id })))
          throw insufficientPermissions(`You do not administer the publisher ${id}.`)
        return listAuditEntries(context.em, { publisher: id, newerThan: await lastDeletionOf(context.em, id) }, args)
      },
    },
    { description: "A page of a publisher's history." },
    { description: 'Something that happened, in a page.' },
  ),
}))

builder.objectFields(PublisherRef, (t) => ({
  viewerRole: t.field({
    type: PublisherRoleEnum,
    nullable: true,
    description: 'What you are in it; null when you are no member.',
    resolve: (publisher, _args, { em, viewer }) => (viewer ? roleIn(em, viewer, publisher) : null),
  }),
  viewerCanAdminister: t.boolean({
    description: 'Whether you may change its details and members.',
    resolve: (publisher, _args, context) => viewerCan(context, canAdministerPublisher, publisher),
  }),
  viewerCanDelete: t.boolean({
    description: 'Whether you may delete it once it owns no packages.',
    resolve: (publisher, _args, context) => viewerCan(context, canDeletePublisher, publisher),
  }),
}))

builder.queryField('publisher', (t) =>
  t.withAuth({ scope: 'read' }).field({
    type: PublisherRef,
    nullable: true,
    description: 'The publisher with this identifier, or null.',
    args: { slug: t.arg.string({ required: true, description: 'Its plain identifier, such as `acme` or `acme.dev`.' }) },
    resolve: (_root, { slug: id }, { em }) => findPublisher(em, id),
  }),
)

builder.queryField('publishers', (t) =>
  t.withAuth({ scope: 'read' }).connection(
    {
      type: PublisherRef,
      description: 'All publishers by identifier.',
      args: {
        query: t.arg.string({
          description: 'Part of the identifier or the name, without regard to case.',
          ...partOfText,
        }),
        isVerified: t.arg.boolean({ description: 'True: only verified publishers; false: only the others.' }),
        viewerIsMember: t.arg.boolean({ description: 'True for only those that you are a member of.' }),
        offset: t.arg.int({
          description: 'Skip this many, for page numbers; cursors are cheaper.',
          validate: notNegative,
        }),
      },
      resolve: (_root, { viewerIsMember, ...args }, { em, viewer }) =>
        listPublishers(em, { ...args, member: viewerIsMember ? viewer.id : null }, args),
    },
    { description: 'A page of publishers.' },
    { description: 'A publisher in a page.' },
  ),
)
