import { jobHandlers } from '../../server/job-handlers.ts'
import { analysisKind } from '../../server/analysis/docs/service.ts'
import { panaKind } from '../../server/analysis/scoring/requests.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import type { TestApp } from '../app.ts'

/** Runs all due jobs, as the worker of the server does. Analyses only run with `analyses`. */
export async function runJobs({ services }: Pick<TestApp, 'services'>, { analyses = false } = {}): Promise<void> {
  const { [analysisKind]: analysis, [panaKind]: pana, ...others } = jobHandlers(services)
  const worker = startWorker(services, analyses && analysis && pana ? { ...others, [analysisKind]: analysis, [panaKind]: pana } : others)
  await worker.settled()
  await worker.stop()
}
