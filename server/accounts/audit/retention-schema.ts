import { z } from 'zod'
import { builder } from '../../platform/graphql/builder.ts'
import { payload } from '../../platform/graphql/payload.ts'
import { isServerOwner } from '../../platform/access/roles.ts'
import { lastCut } from './cuts.ts'
import { type AuditRetention, countOlder, maxRetentionDays, minRetentionDays, readRetention, updateRetention } from './retention.ts'

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
    resolve: (_root, _args, context) => readRetention(context),
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
