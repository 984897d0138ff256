import { builder } from '../../platform/graphql/builder.ts'
import { loadUser } from '../users/loader.ts'
import { UserRef } from '../users/refs.ts'
import { AuditEntry } from './entity.ts'
import { listAuditEntries } from './list.ts'
import { deletedUser } from './people.ts'
import { canSeeAddress, visibleEntries } from './policy.ts'
import { AuditEntryRef } from './refs.ts'

builder.node(AuditEntryRef, {
  description: 'An event in the audit log. Entries are immutable.',
  id: { resolve: (entry) => entry.id },
  loadOne: (id, context) => {
    const seen = visibleEntries(context)
    return seen && context.em.findOne(AuditEntry, { id, ...seen })
  },
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, which REST returns as `id`.' }),
    kind: t.exposeString('kind', { description: 'Kind of the event, such as `package.version_published`.' }),
    summary: t.exposeString('summary', { description: 'A sentence that describes the event.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
    actorId: t.id({
      nullable: true,
      description: 'Plain identifier of the acting user, even if the account was deleted.',
      resolve: ({ actorId }) => actorId ?? null,
    }),
    actor: t.field({
      type: UserRef,
      nullable: true,
      description: 'The acting user; null if the account was deleted or the request was anonymous.',
      resolve: ({ actorId }, _args, context) => (actorId ? loadUser(context, actorId) : null),
    }),
    actorName: t.string({
      nullable: true,
      description: 'Name of the acting user; `deleted user` if the account was deleted; null if the request was anonymous.',
      resolve: async ({ actorId }, _args, context) => (actorId ? ((await loadUser(context, actorId))?.displayName ?? deletedUser) : null),
    }),
    userId: t.id({
      nullable: true,
      description: 'Plain identifier of the affected account, even if it was deleted.',
      resolve: ({ userId }) => userId ?? null,
    }),
    user: t.field({
      type: UserRef,
      nullable: true,
      description: 'The affected account; null if it was deleted, or if the event does not affect an account.',
      resolve: ({ userId }, _args, context) => (userId ? loadUser(context, userId) : null),
    }),
  }),
})

builder.objectFields(AuditEntryRef, (t) => ({
  package: t.string({ nullable: true, description: 'Name of the affected package.', resolve: (entry) => entry.package ?? null }),
  publisher: t.string({
    nullable: true,
    description: 'Id of the affected publisher, or of the publisher that a package was moved to or from.',
    resolve: ({ publisher }) => publisher ?? null,
  }),
  version: t.string({ nullable: true, description: 'The affected package version, if any.', resolve: ({ version }) => version ?? null }),
  clientIp: t.string({
    nullable: true,
    description:
      'IP address of the request. Visible to administrators, and on entries about your own account unless another user was acting.',
    resolve: (entry, _args, context) => (canSeeAddress(context, entry) ? (entry.clientIp ?? null) : null),
  }),
}))

const AuditOrderEnum = builder.enumType('AuditOrder', {
  description: 'How to sort the audit log.',
  values: {
    NEWEST: { value: 'newest', description: 'Newest first.' },
    OLDEST: { value: 'oldest', description: 'Oldest first.' },
  },
})

builder.queryField('auditEntries', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: AuditEntryRef,
      description: 'The audit log of this server. For administrators.',
      args: {
        kind: t.arg.string({ description: 'A kind such as `user.login`, or a prefix such as `user.`.' }),
        actor: t.arg.string({ description: 'The acting user: e-mail address or plain identifier.' }),
        user: t.arg.string({ description: 'The affected account: e-mail address or plain identifier.' }),
        package: t.arg.string({ description: 'Name of the affected package.' }),
        publisher: t.arg.string({ description: 'Id of the affected publisher.' }),
        from: t.arg({ type: 'DateTime', description: 'Only entries at or after this time.' }),
        to: t.arg({ type: 'DateTime', description: 'Only entries before this time.' }),
        olderThan: t.arg.id({ description: 'Only entries older than the entry with this plain identifier.' }),
        orderBy: t.arg({ type: AuditOrderEnum, description: 'Sort order. Default: NEWEST.' }),
      },
      resolve: (_root, { orderBy, ...args }, { em }) => listAuditEntries(em, args, args, orderBy ?? 'newest'),
    },
    { description: 'A page of the audit log.' },
    { description: 'An entry in a page.' },
  ),
)
