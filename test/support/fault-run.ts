import { expect, type TestContext } from 'vitest'
import { auditPublished, auditLeftovers } from './fault-audit.ts'
import type { FaultRegistry, Plan } from './fault-registry.ts'
import { type FaultRow, maxSecondsToWrite } from './fault-table.ts'

export type Fault = Plan & {
  /** For the table: what is done to the server. The number of times and of publishes is added. */
  name: string
  /** How long the server runs undisturbed in between, at most, in milliseconds. */
  everyMs: number
  /** Does it once; resolves when the fault is over. From then on writing has five seconds to work again. */
  strike: () => Promise<void>
  /** What else has to be well again within those five seconds; throws when it is not. */
  recovered?: () => Promise<void>
}

type PublishedAudit = Awaited<ReturnType<typeof auditPublished>>
type LeftoverAudit = Awaited<ReturnType<typeof auditLeftovers>>

/**
 * Publishes while a fault strikes again and again, until all is published; then does the same with the next fault. Nothing may be lost,
 * half-visible or doubled by any of them, nothing may be left over after collection, and no client may have waited for more than five seconds
 * after a fault.
 */
export async function publishDuringFaults(context: TestContext, registry: FaultRegistry, faults: readonly Fault[]): Promise<void> {
  const outcomes: ({ fault: string; seconds: number } & PublishedAudit)[] = []
  for (const fault of faults) {
    const { strikes, seconds } = await publishUnder(registry, fault)
    expect.soft(strikes, fault.name).toBeGreaterThan(0)
    const doors = await auditPublished(registry, fault.label)
    outcomes.push({ fault: `${fault.name}, ${strikes} times in ${fault.publishes} publishes`, seconds, ...doors })
  }
  expect.soft(await registry.stop()).toBe(0)
  const remains = await auditLeftovers(registry)
  for (const outcome of outcomes) recordFault(context, registry, { ...outcome, ...sum(outcome, remains) })
}

/** Adds a row to the table, in which all must be zero. */
export function recordFault({ task }: TestContext, { backend }: FaultRegistry, row: Omit<FaultRow, 'database'>): void {
  task.meta.faults = [...(task.meta.faults ?? []), { database: backend, ...row }]
  const { fault, seconds, ...found } = row
  expect.soft(found, fault).toEqual({ lost: 0, halfVisible: 0, doubled: 0, leftOver: 0 })
  expect.soft(seconds, fault).toBeLessThanOrEqual(maxSecondsToWrite)
}

/** What both audits found. What remains is of the whole server: it shows in every row. */
export const sum = (doors: PublishedAudit, remains: LeftoverAudit) => ({ ...doors, ...remains, doubled: doors.doubled + remains.doubled })

async function publishUnder(registry: FaultRegistry, fault: Fault): Promise<{ strikes: number; seconds: number }> {
  const { everyMs, strike, recovered = async () => {} } = fault
  const progress = { isDone: false }
  let [strikes, seconds] = [0, 0]
  const publishing = registry.publishMany(fault).finally(() => (progress.isDone = true))
  const striking = async () => {
    while (!progress.isDone) {
      await registry.settled() // A client may hear of its success when the server is gone already.
      await strike()
      strikes++
      const overAt = Date.now()
      const acknowledged = Promise.race([registry.nextAcknowledgement(), publishing.then(() => overAt)])
      const [writtenAt] = await Promise.all([acknowledged, recovered()])
      seconds = Math.max(seconds, (writtenAt - overAt) / 1000)
      await new Promise((resolve) => setTimeout(resolve, everyMs * (0.1 + 0.9 * Math.random())))
    }
  }
  await Promise.all([publishing, striking()])
  await registry.settled()
  return { strikes, seconds }
}
