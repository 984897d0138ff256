import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { admin } from '../support/admin-process.ts'
import { FaultRegistry } from '../support/fault-registry.ts'
import { isFullRun } from '../support/fault-table.ts'
import { MoveLoad } from '../support/move-load.ts'
import { s3Bucket } from '../support/s3-service.ts'
import { shaOf } from '../support/stored-blobs.ts'

const publishes = isFullRun ? 300 : 30

it.for([
  ['filesystem', 's3'],
  ['s3', 'filesystem'],
] as const)('moves all acknowledged archives from %s to %s under load, although the command is killed repeatedly', async ([from, to]) => {
  await using bucket = await s3Bucket()
  const registry = await FaultRegistry.open('sqlite', { env: { ...bucket.env, BLOB_BACKEND: from } })
  await registry.publishMany({ label: 'early', publishes: publishes + 12, packages: 6 })
  const keys = [...registry.acknowledged.keys()]
  const load = new MoveLoad(registry, keys.slice(6), keys.slice(0, 6))
  onTestFinished(() => load.end())
  const move = () => admin(registry.folder, registry.env, 'move-blobs', to)
  const copied = async () => {
    const paths = to === 's3' ? await bucket.keys() : readdirSync(join(registry.folder, 'blobs'), { recursive: true }).map(String)
    return paths.filter((path) => /[0-9a-f]{64}$/.test(path)).length
  }
  // Slows down the copying, so that a process can be killed in the middle of it.
  bucket.fault = async ({ operation }) => {
    if (operation === 'PutObject' || operation === 'GetObject') await sleep(20)
    return null
  }
  for (const part of [0.1, 0.4, 0.7]) {
    const killed = move()
    await expect.poll(copied, { interval: 10, timeout: 30_000 }).toBeGreaterThan(publishes * part)
    process.kill(-(killed.process.pid ?? 0), 'SIGKILL')
    expect(await killed.result).toMatchObject({ code: null })
    await load.more(4)
  }
  bucket.fault = () => null
  expect(await move().result).toMatchObject({ code: 0 })
  await load.end()
  expect(load.failures).toEqual([])
  expect(load.deleted.size).toBeGreaterThan(0)
  expect(await registry.stop()).toBe(0)
  // Copies the archives that were published since the previous run.
  expect(await move().result).toMatchObject({ code: 0 })

  registry.env.BLOB_BACKEND = to
  await registry.start()
  for (const { served, sha256 } of registry.archives()) {
    const { status, bytes } = await registry.read(served)
    expect([served, status, shaOf(bytes)]).toEqual([served, 200, sha256])
  }
  const { code, stdout } = await admin(registry.folder, registry.env, 'verify', '--json').result
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { ok: true, problems: [] }])
})
