import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { admin } from '../support/admin-process.ts'
import { type Backend, FaultRegistry } from '../support/fault-registry.ts'
import { isFullRun } from '../support/fault-table.ts'
import { createDatabase } from '../support/postgres.ts'
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

    const second = ask('backup', backups)
    await expect.poll(() => readdirSync(join(backups, 'snapshots')).length, { interval: 5 }).toBe(2)
    // Kills the process group, because the command runs in a child process.
    process.kill(-(second.process.pid ?? 0), 'SIGKILL')
    await second.result
    const snapshots = readdirSync(join(backups, 'snapshots')).filter((id) => existsSync(join(backups, 'snapshots', id, 'manifest.json')))
    expect(snapshots).toHaveLength(1)
    // The killed command does not hold up the next one.
    expect(await ask('backup', backups).result).toMatchObject({ code: 0 })
    expect(await ask('verify', backups).result).toMatchObject({ code: 0, out: expect.stringContaining('Verified 2 backups,') })

    const folder = folderForTest()
    const env: Record<string, string> = {}
    if (backend === 'postgres') {
      const { url, drop } = await createDatabase()
      onTestFinished(drop)
      Object.assign(env, { DB_BACKEND: 'postgres', POSTGRES_URL: url })
    }
    const killed = admin(folder, env, 'restore', backups)
    const marker = join(folder, 'blobs', 'store-id')
    await expect.poll(() => existsSync(marker) && readFileSync(marker, 'utf8'), { interval: 2, timeout: 20_000 }).toContain('restoring')
    process.kill(-(killed.process.pid ?? 0), 'SIGKILL')
    await killed.result
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
