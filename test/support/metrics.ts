import { z } from 'zod'
import { handler, PermanentFailure } from '../../server/platform/jobs/handler.ts'
import { enqueue } from '../../server/platform/jobs/queue.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import type { TestApp } from '../app.ts'

/** Returns the value of the first series with this name and at least these labels in Prometheus text format, or undefined. */
export function sample(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
  const line = lines.find((one) => wanted.every((label) => one.includes(label)))
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1))
}

/** Returns every metric described in a text, with its type. */
export const metricsIn = (text: string): Map<string, string> =>
  new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))

/** Runs three jobs: one succeeds, one fails permanently and one will be retried. */
export async function runThreeJobs({ services }: TestApp): Promise<void> {
  const task = handler(z.unknown(), async ({ subject }) => {
    if (subject === 'broken') throw new PermanentFailure('It is broken.')
    if (subject === 'busy') throw new Error('It is busy.')
  })
  await services.database.fork().transactional(async (em) => {
    for (const subject of ['fine', 'broken', 'busy']) await enqueue(em, { kind: 'task', subject }, services.now())
  })
  const worker = startWorker(services, { task })
  await worker.settled()
  await worker.stop()
}
