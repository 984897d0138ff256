import { builder } from '../graphql/builder.ts'
import type { countJobs } from './queue.ts'

export const JobCountsRef = builder.objectRef<Awaited<ReturnType<typeof countJobs>>>('JobCounts').implement({
  description: 'Number of background jobs in each state.',
  fields: (t) => ({
    queued: t.exposeInt('queued', { description: 'Waiting.' }),
    running: t.exposeInt('running', { description: 'Running.' }),
    failed: t.exposeInt('failed', { description: 'Failed.' }),
  }),
})
