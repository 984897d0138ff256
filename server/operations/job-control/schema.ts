import { builder } from '../../platform/graphql/builder.ts'
import { done } from '../../platform/graphql/payload.ts'
import { byServerAdmin, JobRef } from '../../platform/jobs/schema.ts'
import { cancelJob } from './service.ts'

builder.mutationField('cancelJob', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: 'Boolean',
    description:
      'Cancels a job. A queued job is removed; a running job is stopped and fails, and so does the SDK install that it performs. Always returns true.',
    typeOptions: { description: 'The job to cancel.' },
    argOptions: { description: 'ID of the job.' },
    input: { id: t.input.globalID({ required: true, for: [JobRef], description: 'ID of the job.' }) },
    resolve: (_root, { input }, context) => done(cancelJob(context, input.id.id)),
  }),
)
