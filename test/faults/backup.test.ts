import type { ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { admin } from '../support/admin-process.ts'
import { type Backend, databaseOf, FaultRegistry } from '../support/fault-registry.ts'
import { isFullRun } from '../support/fault-table.ts'
import { folderForTest, start } from '../support/server-process.ts'

const backends: Backend[] = ['sqlite', 'postgres']
const publishes = isFullRun ? 200 : 12

it.for(backends)(
  'creates a backup under load that verifies after a restore, and repeats killed backups and restores, on %s',
  async (backend) => {
    const registry = await FaultRegistry.open(backend)
    const ask = (...args: string[]) => admin(registry.folder, registry.env, ...args)
    await registry.publishMany({ label: 'early', publishes, packages: 6 })
    const backups = join(folderForTest(), 'backups')
    const authorization = `Bearer ${registry.token}`
    const deleteSome = async () => {
      for (const index of [0, 1, 2, 3, 4]) {
        const { status } = await fetch(`${registry.listensAt}/api/admin/packages/early_${index}/versions/1.0.0`, {
          method: 'DELETE',
          headers: { authorization },
        })
        expect(status).toBe(200)
        registry.acknowledged.delete(`early_${index} 1.0.0`)
      }
    }
    const kept = new Set([...registry.acknowledged.keys()].filter((key) => !/early_[0-4] 1\.0\.0/.test(key)))
    const [made] = await Promise.all([ask('backup', backups).result, registry.publishMany({ label: 'during', publishes }), deleteSome()])
    expect(made).toMatchObject({ code: 0 })

    const complete = await killBackup(backups, () => ask('backup', backups))
    // The killed command does not hold up the next one.
    expect(await ask('backup', backups).result).toMatchObject({ code: 0 })
    expect(await ask('verify', backups).result).toMatchObject({
      code: 0,
      out: expect.stringContaining(`Verified ${complete + 1} backups,`),
    })

    const { folder, env } = await killRestore(backend, backups)
    expect((await start(folder, env)).log()).toContain('was interrupted, so the server does not start')
    expect(await admin(folder, env, 'restore', backups).result).toMatchObject({ code: 0 })
    const { code, stdout } = await admin(folder, env, 'verify', '--json').result
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { ok: true, problems: [] }])
    expect(JSON.parse(stdout).checked.archives).toBeGreaterThanOrEqual(kept.size)
    const server = await start(folder, env)
    for (const key of kept) {
      const answer = await fetch(`${server.url}/api/archives/${key.replace(' ', '-')}.tar.gz`, { headers: { authorization } })
      expect([key, answer.status]).toEqual([key, 200])
    }
  },
)

/**
 * Starts backups and kills each once it has begun, until one is killed before it is complete: on a busy machine, the others are complete by then.
 * Returns the number of complete backups.
 */
async function killBackup(backups: string, begin: () => ReturnType<typeof admin>): Promise<number> {
  const snapshots = () => readdirSync(join(backups, 'snapshots'))
  for (;;) {
    const before = snapshots()
    const { process: command, result } = begin()
    await expect.poll(() => snapshots().some((id) => !before.includes(id)), { interval: 5 }).toBe(true)
    await kill(command, result)
    const complete = snapshots().filter((id) => existsSync(join(backups, 'snapshots', id, 'manifest.json')))
    if (complete.length < snapshots().length) return complete.length
  }
}

/** Starts restores, each to an empty server, and kills each once it has begun, until one is killed before it is complete. Returns its server. */
async function killRestore(backend: Backend, backups: string): Promise<{ folder: string; env: Record<string, string> }> {
  for (;;) {
    const [folder, env] = [folderForTest(), await databaseOf(backend)]
    const marker = join(folder, 'blobs', 'store-id')
    const isRestoring = () => existsSync(marker) && readFileSync(marker, 'utf8').includes('restoring')
    const { process: command, result } = admin(folder, env, 'restore', backups)
    await expect.poll(() => isRestoring() || command.exitCode !== null, { interval: 2 }).toBe(true)
    await kill(command, result)
    if (isRestoring()) return { folder, env }
  }
}

/** Kills the process group of a command, which runs in a child process. The command may be complete by then. */
async function kill(command: ChildProcess, result: Promise<{ code: number | null }>): Promise<void> {
  if (command.exitCode === null) process.kill(-(command.pid ?? 0), 'SIGKILL')
  expect([null, 0]).toContain((await result).code)
}
