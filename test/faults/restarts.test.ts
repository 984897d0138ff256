import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { publishDuringFaults } from '../support/fault-run.ts'
import { type Backend, FaultRegistry } from '../support/fault-registry.ts'
import { isFullRun } from '../support/fault-table.ts'

// Changes across a restart, such as damaged archives or a new SERVER_URL, while clients keep publishing.
const backends: Backend[] = ['sqlite', 'postgres']
const options = { timeout: 900_000 }
const usual = { label: 'published', publishes: isFullRun ? 200 : 10, everyMs: 500 }

const restart = async (registry: FaultRegistry, whileStopped: () => void) => {
  expect(await registry.stop()).toBe(0)
  whileStopped()
  await registry.start()
}

it.for(backends)(
  'refuses to serve an archive that was damaged during a stop until it is repaired, on %s',
  options,
  async (backend, context) => {
    const registry = await FaultRegistry.open(backend)
    const damages = [
      (whole: Buffer) => whole.subarray(0, whole.length / 2),
      (whole: Buffer) => Buffer.from(whole.with(20, (whole[20] ?? 0) ^ 1)),
    ]
    const strike = async () => {
      await expect.poll(() => registry.acknowledged.size).toBeGreaterThan(1)
      const archives = registry
        .archives()
        .slice(-2)
        .map((archive) => ({ ...archive, whole: readFileSync(archive.path) }))
      await restart(registry, () => archives.forEach(({ path, whole }, index) => writeFileSync(path, damages[index]?.(whole) ?? '')))
      for (const { path, served, whole } of archives) {
        expect((await registry.readOnce(served)).status).toBe(503)
        writeFileSync(path, whole)
        const { status, bytes } = await registry.readOnce(served)
        expect([status, bytes.equals(whole)]).toEqual([200, true])
      }
    }
    await publishDuringFaults(context, registry, [{ ...usual, name: 'archives truncated and flipped', strike }])
  },
)

it.for(backends)('accepts packages that name a former SERVER_URL, on %s', options, async (backend, context) => {
  const registry = await FaultRegistry.open(backend)
  const first = registry.url
  await registry.publish({ name: 'named', version: '1.0.0' })
  let moves = 0
  const strike = async () => {
    // A new SERVER_URL rebuilds the search index, because the pubspec of a package names the first URL.
    await restart(registry, () => (registry.env.SERVER_URL = first.replace('localhost', `moved-${++moves}.localhost`)))
  }
  const pubspec = () => `publish_to: ${first}\ndependencies:\n  named:\n    hosted: ${first}\n    version: ^1.0.0\n`
  await publishDuringFaults(context, registry, [{ ...usual, name: 'another SERVER_URL', strike, pubspec }])
})
