import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { type BlobStore, DamagedBytes } from '../blobs/store.ts'

/** Number of blobs processed concurrently. Disks and buckets are limited by latency rather than throughput. */
const atOnce = 4

/** What is wrong with stored bytes. */
export type Fault = 'missing' | 'damaged'

/** Runs `work` for each entry with limited concurrency. After the first failure, of `entries` or `work`, waits for running work and throws it. */
export async function forEachConcurrently<Entry>(entries: AsyncIterable<Entry>, work: (entry: Entry) => Promise<void>): Promise<void> {
  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  try {
    for await (const entry of entries) {
      if (failures.length > 0) break
      const one = work(entry)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => running.delete(one))
      running.add(one)
      if (running.size >= atOnce) await Promise.race(running)
    }
  } finally {
    await Promise.all(running)
  }
  if (failures.length > 0) throw failures[0]
}

/** Stores at most `limit` bytes of a stream. Returns their number, or null, without storing them, if they do not have this hash. */
export async function storeBytes(store: BlobStore, sha256: string, source: Readable, limit: number): Promise<number | null> {
  const name = `copy-${randomUUID()}`
  try {
    const staged = await store.stage(name, source, limit)
    if (staged.sha256 !== sha256) return null
    await store.promote(name, sha256)
    return staged.bytes
  } finally {
    // A failed `stage` does not destroy the source, and an open connection would keep a command from exiting.
    source.destroy()
    // Staged bytes that cannot be deleted now are collected later.
    await store.discard(name).catch(() => {})
  }
}

/** Reads stored bytes completely. Returns what is wrong with them, or null. */
export async function findFault(store: BlobStore, sha256: string): Promise<Fault | null> {
  try {
    return (await store.hash(sha256)) === sha256 ? null : 'damaged'
  } catch (error) {
    return faultOf(error)
  }
}

/** Returns what is wrong with bytes that cannot be read. @throws errors with another cause, such as unavailable storage. */
export function faultOf(error: unknown): Fault {
  if (error instanceof DamagedBytes) return 'damaged'
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing'
  throw error
}
