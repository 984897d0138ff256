import { expect, it } from 'vitest'
import { auditDoors, auditRemains } from '../support/fault-audit.ts'
import { type Backend, FaultRegistry } from '../support/fault-registry.ts'
import { isFullRun, maxSecondsToWrite } from '../support/fault-table.ts'

const publishes = isFullRun ? 1000 : 60

it.for<Backend>(['sqlite', 'postgres'])(
  'loses nothing of what was published while the server is killed again and again, on %s',
  async (database, { task }) => {
    const registry = await FaultRegistry.open(database)
    let isDone = false
    let [kills, seconds] = [0, 0]
    const publishing = registry.publishMany(publishes).finally(() => (isDone = true))
    const killing = (async () => {
      while (!isDone) {
        await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 450))
        if (isDone) break
        const [killedAt, next] = [Date.now(), registry.nextAcknowledgement()]
        await registry.kill()
        await registry.start()
        kills++
        seconds = Math.max(seconds, ((await Promise.race([next, publishing.then(() => Date.now())])) - killedAt) / 1000)
      }
    })()
    await Promise.all([publishing, killing])
    const doors = await auditDoors(registry)
    registry.server.process.kill('SIGTERM')
    await registry.server.exit
    const remains = await auditRemains(registry)
    const found = { ...doors, ...remains, doubled: doors.doubled + remains.doubled }
    task.meta.faults = [{ fault: `SIGKILL ${kills} times during ${publishes} publishes`, database, seconds, ...found }]
    expect.soft(found).toEqual({ lost: 0, halfVisible: 0, doubled: 0, leftOver: 0 })
    expect(seconds).toBeLessThanOrEqual(maxSecondsToWrite)
  },
  900_000,
)
