/** Number of blobs processed concurrently. Disks and buckets are limited by latency rather than throughput. */
const atOnce = 4

/** Runs `work` for each entry with limited concurrency. After the first failure no more work starts; that error is thrown once running work ends. */
export async function forEachConcurrently<Entry>(entries: AsyncIterable<Entry>, work: (entry: Entry) => Promise<void>): Promise<void> {
  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  for await (const entry of entries) {
    if (failures.length > 0) break
    const one = work(entry)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(one))
    running.add(one)
    if (running.size >= atOnce) await Promise.race(running)
  }
  await Promise.all(running)
  if (failures.length > 0) throw failures[0]
}
