import { expect, type TestContext } from 'vitest'
import { auditPublished, auditLeftovers } from './fault-audit.ts'
import type { FaultRegistry, Plan } from './fault-registry.ts'
import type { FaultRow } from './fault-table.ts'

export type Fault = Plan & {
  /** Name in the results table. The number of faults and publishes is appended. */
  name: string
  /** Maximum time between faults, in milliseconds. */
  everyMs: number
  /** Causes the fault once and resolves when it is over. From then on, writes must succeed within `maxSecondsToWrite`. */
  strike: () => Promise<void>
  /** Checks an additional condition within five seconds after the fault. Throws if it does not hold. */
  recovered?: () => Promise<void>
}

type PublishedAudit = Awaited<ReturnType<typeof auditPublished>>
type LeftoverAudit = Awaited<ReturnType<typeof auditLeftovers>>

/**
 * Publishes while a fault is injected repeatedly, until everything is published, then continues with the next fault. No version may be lost,
 * partially visible or duplicated, no orphaned files may remain after collection, and clients may wait at most `maxSecondsToWrite` after a fault.
 */
export async function publishDuringFaults(context: TestContext, registry: FaultRegistry, faults: readonly Fault[]): Promise<void> {
  const outcomes: ({ fault: string; seconds: number } & PublishedAudit)[] = []
  for (const fault of faults) {
    const { strikes, seconds } = await publishUnder(registry, fault)
    expect.soft(strikes, fault.name).toBeGreaterThan(0)
    const published = await auditPublished(registry, fault.label)
    outcomes.push({ fault: `${fault.name}, ${strikes} times in ${fault.publishes} publishes`, seconds, ...published })
  }
  expect.soft(await registry.stop()).toBe(0)
  const remains = await auditLeftovers(registry)
  for (const outcome of outcomes) recordFault(context, registry, { ...outcome, ...sum(outcome, remains) })
}

/** Adds a row to the results table. All counts must be zero. */
export function recordFault({ task }: TestContext, { backend, maxSecondsToWrite }: FaultRegistry, row: Omit<FaultRow, 'database'>): void {
  task.meta.faults = [...(task.meta.faults ?? []), { database: backend, ...row }]
  const { fault, seconds, ...found } = row
  expect.soft(found, fault).toEqual({ lost: 0, halfVisible: 0, doubled: 0, leftOver: 0 })
  expect.soft(seconds, fault).toBeLessThanOrEqual(maxSecondsToWrite)
}

/** Combines the results of both audits. Leftovers are counted for the whole server, so every row includes them. */
export const sum = (published: PublishedAudit, remains: LeftoverAudit) => ({
  ...published,
  ...remains,
  doubled: published.doubled + remains.doubled,
})

async function publishUnder(registry: FaultRegistry, fault: Fault): Promise<{ strikes: number; seconds: number }> {
  const { everyMs, strike, recovered = async () => {} } = fault
  const progress = { isDone: false }
  let [strikes, seconds] = [0, 0]
  const publishing = registry.publishMany(fault).finally(() => (progress.isDone = true))
  const striking = async () => {
    while (!progress.isDone) {
      await registry.settled() // A client may receive its response after the server was killed.
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
