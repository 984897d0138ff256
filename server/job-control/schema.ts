import { builder } from '../graphql/builder.ts'
import { done } from '../graphql/payload.ts'
import { byServerAdmin } from '../jobs/policy.ts'
import { JobRef } from '../jobs/schema.ts'
import { cancelJob } from './service.ts'

builder.mutationField('cancelJob', (t) =>
  t.withAuth(byServerAdmin).fieldWithInput({
    type: 'Boolean',
    description:
      'Cancels a job: one that waits is removed, one that is running is told to stop and has failed, as has the install of an SDK. Always true.',
    typeOptions: { description: 'The job to cancel.' },
    argOptions: { description: 'Which one.' },
    input: { id: t.input.globalID({ required: true, for: [JobRef], description: 'Which one.' }) },
    resolve: (_root, { input }, context) => done(cancelJob(context, input.id.id)),
  }),
)
