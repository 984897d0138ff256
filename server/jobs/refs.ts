import { builder } from '../graphql/builder.ts'
import type { countJobs } from './queue.ts'

export const JobCountsRef = builder.objectRef<Awaited<ReturnType<typeof countJobs>>>('JobCounts').implement({
  description: 'How many pieces of work there are beside requests.',
  fields: (t) => ({
    queued: t.exposeInt('queued', { description: 'Waiting.' }),
    running: t.exposeInt('running', { description: 'Being done.' }),
    failed: t.exposeInt('failed', { description: 'Given up.' }),
  }),
})
