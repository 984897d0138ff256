import { newestFirst } from '../../platform/graphql/connections.ts'
import { readSetting } from '../../platform/settings/service.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { newestByDefault } from '../../platform/graphql/types.ts'
import { replacedBy } from '../../platform/graphql/former-schema.ts'
import { loadUser } from '../users/service.ts'
import { UserRef, UserReference, referencedUser } from '../users/refs.ts'
import { AuditEntry, deletedUser } from './entity.ts'
import { listAuditEntries } from './list.ts'
import { AuditEntryRef } from './refs.ts'
import { canSeeAddress, visibleEntries, securityFilter } from './policy.ts'
import { belongingsScope, canSeeBelongings } from '../users/policy.ts'
import { z } from 'zod'
import { connectionOf, payload } from '../../platform/graphql/payload.ts'
import { isServerOwner } from '../../platform/access/roles.ts'
import { lastCut } from './chain.ts'
import { type AuditRetention, countOlder, maxRetentionDays, minRetentionDays, auditRetention, updateRetention } from './retention.ts'

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
    actorId: t.exposeID('actorId', {
      nullable: true,
      description: 'Plain identifier of the acting user, even if the account was deleted.',
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
    userId: t.exposeID('userId', { nullable: true, description: 'Plain identifier of the affected account, even if it was deleted.' }),
    user: t.field({
      type: UserRef,
      nullable: true,
      description: 'The affected account; null if it was deleted, or if the event does not affect an account.',
      resolve: ({ userId }, _args, context) => (userId ? loadUser(context, userId) : null),
    }),
    package: t.exposeString('package', { nullable: true, description: 'Name of the affected package.' }),
    publisher: t.exposeString('publisher', {
      nullable: true,
      description: 'Id of the affected publisher, or of the publisher that a package was moved to or from.',
    }),
    version: t.exposeString('version', { nullable: true, description: 'The affected package version, if any.' }),
    clientIp: t.string({
      nullable: true,
      description:
        'IP address of the request. Visible to administrators, and on entries about your own account unless another user was acting.',
      resolve: (entry, _args, context) => (canSeeAddress(context, entry) ? entry.clientIp : null),
    }),
  }),
})

builder.queryField('auditEntries', (t) =>
  t.withAuth({ scope: 'admin' }).connection(
    {
      type: AuditEntryRef,
      description: 'The audit log of this server. For administrators.',
      args: {
        kind: t.arg.string({ description: 'A kind such as `user.login`, or a prefix such as `user.`.' }),
        excludeKinds: t.arg.stringList({
          description: 'Up to 20 kinds or prefixes to leave out.',
          validate: z.array(z.string().max(60, 'must have at most 60 characters')).max(20, 'must have at most 20 kinds'),
        }),
        actedBy: t.arg({ type: UserReference, description: 'The acting user.' }),
        affectedUser: t.arg({ type: UserReference, description: 'The affected account.' }),
        actor: t.arg.string({
          description: 'The acting user: e-mail address or plain identifier.',
          deprecationReason: replacedBy('actedBy'),
        }),
        user: t.arg.string({
          description: 'The affected account: e-mail address or plain identifier.',
          deprecationReason: replacedBy('affectedUser'),
        }),
        package: t.arg.string({ description: 'Name of the affected package.' }),
        publisher: t.arg.string({ description: 'Id of the affected publisher.' }),
        peopleOnly: t.arg.boolean({ description: 'Whether to leave out what the server did itself, such as scoring.' }),
        from: t.arg({ type: 'DateTime', description: 'Only entries at or after this time.' }),
        to: t.arg({ type: 'DateTime', description: 'Only entries before this time.' }),
        olderThan: t.arg.id({ description: 'Only entries older than the entry with this plain identifier.' }),
        direction: t.arg(newestByDefault),
      },
      resolve: (_root, { actedBy, affectedUser, ...args }, { em }) => {
        const people = { actor: referencedUser(actedBy) ?? args.actor, user: referencedUser(affectedUser) ?? args.user }
        return listAuditEntries(em, { ...args, ...people }, args)
      },
    },
    connectionOf(AuditEntryRef),
  ),
)

builder.objectField(UserRef, 'securityHistory', (t) =>
  t.connection(
    {
      type: AuditEntryRef,
      nullable: true,
      authScopes: (user, _args, context) => belongingsScope(user, context),
      description:
        'Sign-ins and attempts, passwords, tokens and sessions of this account, newest first; null for other users than its owner and administrators. A token needs the scope WRITE.',
      args: { direction: t.arg(newestByDefault) },
      resolve: (user, args, context) =>
        canSeeBelongings(context, user) ? newestFirst(context.em, AuditEntry, securityFilter(user.id), args) : null,
    },
    connectionOf(AuditEntryRef),
  ),
)

builder.objectField(UserRef, 'activity', (t) =>
  t.connection(
    {
      type: AuditEntryRef,
      nullable: true,
      authScopes: (user, _args, context) => belongingsScope(user, context),
      description: 'Actions of this user, newest first; null unless you are this user or an administrator. A token needs the scope WRITE.',
      args: { direction: t.arg(newestByDefault) },
      resolve: (user, args, context) => (canSeeBelongings(context, user) ? listAuditEntries(context.em, { actor: user.id }, args) : null),
    },
    connectionOf(AuditEntryRef),
  ),
)

const tooShort = `must be at least ${minRetentionDays} days`
const daysRange = z.int().min(minRetentionDays, tooShort).max(maxRetentionDays, `must be at most ${maxRetentionDays} days`)

const AuditRetentionRef = builder.objectRef<AuditRetention>('AuditRetention').implement({
  description: 'How long this server keeps audit entries. Older entries are deleted once a day, which is recorded in the audit log.',
  fields: (t) => ({
    days: t.exposeInt('days', { nullable: true, description: 'Number of days; null to keep entries forever.' }),
    minimumDays: t.int({ description: 'Minimum value of `days`.', resolve: () => minRetentionDays }),
    keptFrom: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Entries older than this time were deleted; null if no entries were deleted.',
      resolve: async (_retention, _args, { em }) => (await lastCut(em))?.keptFrom ?? null,
    }),
    entriesOlderThan: t.int({
      description: 'Number of entries that a retention of this many days would delete.',
      args: { days: t.arg.int({ required: true, description: 'Number of days.', validate: daysRange }) },
      resolve: (_retention, { days }, context) => countOlder(context, days),
    }),
    viewerCanUpdate: t.boolean({
      description: 'Whether you may change the setting. Only the owner of the server may.',
      resolve: (_retention, _args, context) => isServerOwner(context),
    }),
  }),
})

builder.queryField('auditRetention', (t) =>
  t.withAuth({ scope: 'admin' }).field({
    type: AuditRetentionRef,
    description: 'How long this server keeps audit entries, for administrators.',
    resolve: (_root, _args, { database }) => readSetting(database.reads, auditRetention),
  }),
)

builder.mutationField('updateAuditRetention', (t) =>
  t.withAuth({ owner: true }).fieldWithInput({
    type: payload('UpdateAuditRetentionPayload', 'The updated setting.', {
      auditRetention: { type: AuditRetentionRef, description: 'How long audit entries are kept.' },
    }),
    description: 'Sets how long audit entries are kept. For the owner of the server. Older entries are deleted within minutes.',
    typeOptions: { description: 'How long to keep audit entries.' },
    argOptions: { description: 'The new retention.' },
    input: {
      days: t.input.int({
        description: `Number of days, from ${minRetentionDays} to ${maxRetentionDays}; null or omitted to keep entries forever.`,
        validate: daysRange.nullish(),
      }),
    },
    resolve: async (_root, { input }, context) => ({ auditRetention: await updateRetention(context, { days: input.days ?? null }) }),
  }),
)
