import { request } from 'node:http'
import { it } from 'vitest'
import { packageArchive } from '../support/archive.ts'
import { publishDuringFaults } from '../support/fault-run.ts'
import { type Backend, FaultRegistry } from '../support/fault-registry.ts'
import { isFullRun } from '../support/fault-table.ts'
import { json } from '../support/server-process.ts'
import { fragments, openSocket } from '../support/silent-clients.ts'

const backends: Backend[] = ['sqlite', 'postgres']
const limitMs = 900_000

it.for(backends)(
  'loses no acknowledged version when the server is killed during publishes, on %s',
  { timeout: limitMs },
  async (database, context) => {
    const registry = await FaultRegistry.open(database)
    const strike = async () => {
      await registry.kill()
      // Does not wait for the start, so that the downtime counts as well.
      void registry.start()
    }
    await publishDuringFaults(context, registry, [
      { label: 'published', name: 'SIGKILL', publishes: isFullRun ? 1000 : 40, everyMs: 500, strike },
    ])
  },
)

it.for(backends)(
  'restarts during publishes with only errors that a retry resolves, on %s',
  { timeout: limitMs },
  async (database, context) => {
    const registry = await FaultRegistry.open(database)
    const strike = async () => {
      for (const text of fragments) await openSocket(registry.listensAt, text)
      const code = await registry.stop()
      if (code !== 0) throw new Error(`The server ended with ${code} after SIGTERM.`)
      void registry.start()
    }
    await publishDuringFaults(context, registry, [
      { label: 'published', name: 'SIGTERM with silent clients', publishes: isFullRun ? 300 : 30, everyMs: 700, strike },
    ])
  },
)

it.for(backends)(
  'completes every publish of a user whose other uploads are interrupted, on %s',
  { timeout: limitMs },
  async (database, context) => {
    const registry = await FaultRegistry.open(database)
    const archive = await packageArchive({ name: 'broken', version: '1.0.0' })
    const strike = () => breakOff(registry, archive.subarray(0, archive.length / 2), archive.length)
    await publishDuringFaults(context, registry, [
      { label: 'published', name: 'interrupted upload', publishes: isFullRun ? 300 : 30, everyMs: 40, strike },
    ])
  },
)

/** Begins an upload, sends a part of the declared length and closes the connection. */
async function breakOff(registry: FaultRegistry, part: Buffer, length: number): Promise<void> {
  const authorization = `Bearer ${registry.token}`
  const { body } = await json(`${registry.url}/api/packages/versions/new`, undefined, { authorization })
  const headers = { authorization, 'content-type': 'application/octet-stream', 'content-length': length }
  await new Promise((resolve) => {
    const sending = request(`${body.url}?upload_id=${body.fields.upload_id}`, { method: 'POST', headers }).on('close', resolve)
    sending.on('error', () => {}) // the broken connection is intended
    sending.write(part, () => sending.destroy())
  })
}
