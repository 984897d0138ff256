import { jobHandlers } from '../../server/job-handlers.ts'
import { startWorker } from '../../server/jobs/worker.ts'
import type { TestApp } from '../app.ts'

/** Does all the work that is due, as the server's worker would. */
export async function runJobs({ services }: Pick<TestApp, 'services'>): Promise<void> {
  const worker = startWorker(services, jobHandlers(services))
  await worker.settled()
  await worker.stop()
}
