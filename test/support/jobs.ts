import { jobHandlers } from '../../server/job-handlers.ts'
import { analysisKind } from '../../server/scoring/requests.ts'
import { startWorker } from '../../server/jobs/worker.ts'
import type { TestApp } from '../app.ts'

/** Does all the work that is due, as the server's worker would; versions are analyzed only where a test is about that. */
export async function runJobs({ services }: Pick<TestApp, 'services'>, { analyses = false } = {}): Promise<void> {
  const { [analysisKind]: analysis, ...others } = jobHandlers(services)
  const worker = startWorker(services, analyses && analysis ? { ...others, [analysisKind]: analysis } : others)
  await worker.settled()
  await worker.stop()
}
