import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageArchive } from './archive.ts'
import type { FaultRegistry } from './fault-registry.ts'
import { PubFailure } from './pub-client.ts'

/** Clients of a server that temporarily refuses writes. They read, publish and delete continuously and record each response. */
export class MoveLoad {
  /** Versions whose publishing was refused. They may exist nevertheless. */
  readonly refused = new Set<string>()
  /** Deleted versions. */
  readonly deleted = new Set<string>()
  /** Reads whose status was not 200. */
  readonly failures: string[] = []
  readonly counts = { read: 0, published: 0 }
  longestReadMs = 0
  private readonly registry: FaultRegistry
  private readonly running: Promise<unknown>
  private isOver = false
  private serial = 0

  /** `existing` are the versions to read, `leaving` the versions to delete. Both are given as `name version`. */
  constructor(registry: FaultRegistry, existing: string[], leaving: string[]) {
    this.registry = registry
    const reading = existing.slice(0, 3).map((key) => this.again(5, () => this.read(key)))
    const publishing = [1, 2].map(() => this.again(20, () => this.publish()))
    this.running = Promise.all([...reading, ...publishing, this.again(300, () => this.delete(leaving.pop()))])
  }

  /** Waits until `count` more versions are published. */
  async more(count: number): Promise<void> {
    for (const until = this.counts.published + count; this.counts.published < until;) await sleep(20)
  }

  async end(): Promise<void> {
    this.isOver = true
    await this.running
  }

  private async again(pauseMs: number, work: () => Promise<void>): Promise<void> {
    for (; !this.isOver; await sleep(pauseMs)) await work()
  }

  private async read(key: string): Promise<void> {
    const [name, version] = key.split(' ')
    const paths = [
      `/api/packages/${name}`,
      `/api/archives/${name}-${version}.tar.gz`,
      '/api/search?q=made',
      '/api/auth/me',
      `/packages/${name}`,
    ]
    const path = paths[this.counts.read++ % paths.length] ?? ''
    const began = performance.now()
    const { status } = await this.registry.readOnce(path)
    this.longestReadMs = Math.max(this.longestReadMs, performance.now() - began)
    if (status !== 200) this.failures.push(`${path}: ${status}`)
  }

  private async publish(): Promise<void> {
    const planned = { name: `load_${this.serial % 5}`, version: `1.0.${this.serial++}` }
    const [key, archive] = [`${planned.name} ${planned.version}`, await packageArchive(planned)]
    try {
      await this.registry.client.publish(archive)
      this.registry.acknowledged.set(key, createHash('sha256').update(archive).digest('hex'))
      this.counts.published++
    } catch (error) {
      if (!(error instanceof PubFailure) || error.status !== 503) throw error
      this.refused.add(key)
    }
  }

  private async delete(key: string | undefined): Promise<void> {
    if (key === undefined) return
    const headers = { authorization: `Bearer ${this.registry.token}` }
    const path = `/api/admin/packages/${key.replace(' ', '/versions/')}`
    const { status } = await fetch(this.registry.listensAt + path, { method: 'DELETE', headers })
    if (status === 200) {
      this.deleted.add(key)
      this.registry.acknowledged.delete(key)
    } else if (status !== 503) throw new Error(`${path}: ${status}`)
  }
}
