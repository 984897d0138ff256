import { jobHandlers } from '../../server/job-handlers.ts'
import { analysisKind, panaKind } from '../../server/scoring/requests.ts'
import { startWorker } from '../../server/jobs/worker.ts'
import type { TestApp } from '../app.ts'

/** Does all the work that is due, as the server's worker would; versions are analyzed only where a test is about that. */
export async function runJobs({ services }: Pick<TestApp, 'services'>, { analyses = false } = {}): Promise<void> {
  const { [analysisKind]: analysis, [panaKind]: pana, ...others } = jobHandlers(services)
  const worker = startWorker(services, analyses && analysis && pana ? { ...others, [analysisKind]: analysis, [panaKind]: pana } : others)
  await worker.settled()
  await worker.stop()
}
