import { builder } from '../graphql/builder.ts'
import { loadUser } from '../users/loader.ts'
import { UserRef } from '../users/refs.ts'
import { AuditEntry } from './entity.ts'
import { listAuditEntries } from './list.ts'
import { deletedUser } from './people.ts'
import { canSeeAddress, entriesSeen } from './policy.ts'
import { AuditEntryRef } from './refs.ts'

builder.node(AuditEntryRef, {
  description: 'Something that happened. Entries are never changed.',
  id: { resolve: (entry) => entry.id },
  loadOne: (id, context) => {
    const seen = entriesSeen(context)
    return seen && context.em.findOne(AuditEntry, { id, ...seen })
  },
  fields: (t) => ({
    uuid: t.exposeID('id', { description: 'The plain identifier, as REST shows it in `id`.' }),
    kind: t.exposeString('kind', { description: 'What kind of event, such as `package.version_published`.' }),
    summary: t.exposeString('summary', { description: 'One sentence for people.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
    actorId: t.id({
      nullable: true,
      description: 'Plain identifier of the user who did it, even when the account was deleted.',
      resolve: ({ actorId }) => actorId ?? null,
    }),
    actor: t.field({
      type: UserRef,
      nullable: true,
      description: 'The user who did it; null when the account was deleted, or when nobody was signed in.',
      resolve: ({ actorId }, _args, context) => (actorId ? loadUser(context, actorId) : null),
    }),
    actorName: t.string({
      nullable: true,
      description: 'Name of the user who did it, `deleted user` when the account was deleted; null when nobody was signed in.',
      resolve: async ({ actorId }, _args, context) => (actorId ? ((await loadUser(context, actorId))?.displayName ?? deletedUser) : null),
    }),
    userId: t.id({
      nullable: true,
      description: 'Plain identifier of the account acted upon, even when it is gone.',
      resolve: ({ userId }) => userId ?? null,
    }),
    user: t.field({
      type: UserRef,
      nullable: true,
      description: 'The account acted upon; null when it is gone, or when it was something else.',
      resolve: ({ userId }, _args, context) => (userId ? loadUser(context, userId) : null),
    }),
  }),
})

builder.objectFields(AuditEntryRef, (t) => ({
  package: t.string({ nullable: true, description: 'Name of the package acted upon.', resolve: (entry) => entry.package ?? null }),
  publisher: t.string({
    nullable: true,
    description: 'Id of the publisher acted upon, or of the one that the package came to or left.',
    resolve: ({ publisher }) => publisher ?? null,
  }),
  version: t.string({ nullable: true, description: 'Its version, when it was about one.', resolve: ({ version }) => version ?? null }),
  clientIp: t.string({
    nullable: true,
    description:
      'IP address of the request: shown to administrators, and on entries about your own account unless another user was acting.',
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
      description: 'Everything that happened on this server, for administrators.',
      args: {
        kind: t.arg.string({ description: 'A kind such as `user.login`, or the beginning of kinds, such as `user.`.' }),
        actor: t.arg.string({ description: 'Who did it: e-mail address or plain identifier.' }),
        user: t.arg.string({ description: 'To whom it was done: e-mail address or plain identifier.' }),
        package: t.arg.string({ description: 'Name of the package acted upon.' }),
        publisher: t.arg.string({ description: 'Id of the publisher acted upon.' }),
        from: t.arg({ type: 'DateTime', description: 'Not before this moment.' }),
        to: t.arg({ type: 'DateTime', description: 'Before this moment.' }),
        olderThan: t.arg.id({ description: 'Only what is older than the entry with this plain identifier.' }),
        orderBy: t.arg({ type: AuditOrderEnum, description: 'Order; NEWEST when left out.' }),
      },
      resolve: (_root, { orderBy, ...args }, { em }) => listAuditEntries(em, args, args, orderBy ?? 'newest'),
    },
    { description: 'A page of the audit log.' },
    { description: 'An entry in a page.' },
  ),
)
