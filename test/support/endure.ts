import { expect, type TestContext } from 'vitest'
import { auditDoors, auditRemains } from './fault-audit.ts'
import type { Backend, FaultRegistry } from './fault-registry.ts'
import { maxSecondsToWrite } from './fault-table.ts'

type Fault = {
  /** For the table: what is done to the server. The number of times and of publishes is added. */
  name: string
  database: Backend
  /** How many versions are published meanwhile. */
  publishes: number
  /** How long the server runs undisturbed in between, at most, in milliseconds. */
  everyMs: number
  /** Does it once; resolves when the fault is over. From then on writing has five seconds to work again. */
  strike: () => Promise<void>
}

/**
 * Publishes while a fault strikes again and again, until all is published. Then nothing may be lost, half-visible or doubled, nothing may be
 * left over after collection, and no client may have waited for more than five seconds after a fault.
 */
export async function endure({ task }: TestContext, registry: FaultRegistry, fault: Fault): Promise<void> {
  const { name, database, publishes, everyMs, strike } = fault
  const progress = { isDone: false }
  let [strikes, seconds] = [0, 0]
  const publishing = registry.publishMany(publishes).finally(() => (progress.isDone = true))
  const striking = async () => {
    while (!progress.isDone) {
      await strike()
      strikes++
      const overAt = Date.now()
      seconds = Math.max(seconds, ((await Promise.race([registry.nextAcknowledgement(), publishing.then(() => overAt)])) - overAt) / 1000)
      await new Promise((resolve) => setTimeout(resolve, everyMs * (0.1 + 0.9 * Math.random())))
    }
  }
  await Promise.all([publishing, striking()])
  await registry.settled()
  const doors = await auditDoors(registry)
  expect.soft(await registry.stop()).toBe(0)
  const remains = await auditRemains(registry)
  const found = { ...doors, ...remains, doubled: doors.doubled + remains.doubled }
  task.meta.faults = [
    ...(task.meta.faults ?? []),
    { fault: `${name}, ${strikes} times in ${publishes} publishes`, database, seconds, ...found },
  ]
  expect.soft(found).toEqual({ lost: 0, halfVisible: 0, doubled: 0, leftOver: 0 })
  expect.soft(strikes).toBeGreaterThan(0)
  expect(seconds).toBeLessThanOrEqual(maxSecondsToWrite)
}
