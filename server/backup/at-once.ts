/** So many blobs are worked on at once: disks and buckets are slow to answer, not busy. */
const atOnce = 4

/** Does `work` with each entry, some at once; the first failure ends it, once what is under way has ended. */
export async function forEachOf<Entry>(entries: AsyncIterable<Entry>, work: (entry: Entry) => Promise<void>): Promise<void> {
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
