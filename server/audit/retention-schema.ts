import { z } from 'zod'
import { builder } from '../graphql/builder.ts'
import { payload } from '../graphql/payload.ts'
import { isServerOwner } from '../roles/viewer.ts'
import { lastCut } from './cuts.ts'
import { type AuditRetention, countOlder, maxRetentionDays, minRetentionDays, readRetention, updateRetention } from './retention.ts'

const tooShort = `must be at least ${minRetentionDays} days`
const daysRange = z.int().min(minRetentionDays, tooShort).max(maxRetentionDays, `must be at most ${maxRetentionDays} days`)

const AuditRetentionRef = builder.objectRef<AuditRetention>('AuditRetention').implement({
  description: 'How long this server keeps audit entries. What is older is deleted, oldest first, once a day; the log says so.',
  fields: (t) => ({
    days: t.exposeInt('days', { nullable: true, description: 'For how many days; null for ever.' }),
    minimumDays: t.int({ description: 'What `days` is at least.', resolve: () => minRetentionDays }),
    keptFrom: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Entries from before this moment were deleted; null while every entry is there.',
      resolve: async (_retention, _args, { em }) => (await lastCut(em))?.keptFrom ?? null,
    }),
    entriesOlderThan: t.int({
      description: 'How many entries would be deleted, if they were kept for so many days.',
      args: { days: t.arg.int({ required: true, description: 'For how many days.', validate: daysRange }) },
      resolve: (_retention, { days }, context) => countOlder(context, days),
    }),
    viewerCanUpdate: t.boolean({
      description: 'Whether you may change it: only the owner of the server may.',
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
    type: payload('UpdateAuditRetentionPayload', 'What is set now.', {
      auditRetention: { type: AuditRetentionRef, description: 'How long audit entries are kept.' },
    }),
    description: 'Sets how long audit entries are kept; for the owner of the server. What is older is deleted within minutes.',
    typeOptions: { description: 'How long to keep audit entries.' },
    argOptions: { description: 'For how long.' },
    input: {
      days: t.input.int({
        description: `For how many days, from ${minRetentionDays} to ${maxRetentionDays}; null, or left out, for ever.`,
        validate: daysRange.nullish(),
      }),
    },
    resolve: async (_root, { input }, context) => ({ auditRetention: await updateRetention(context, { days: input.days ?? null }) }),
  }),
)
