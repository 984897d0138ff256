/** Values that cost memory, the least recently used of which go first. */
export type ByteCache<Value> = {
  get(key: string): Value | undefined
  set(key: string, value: Value): void
}

/** A cache that holds at most `limit` bytes, as `bytesOf` counts them. What is larger than a quarter of that is not kept. */
export function byteCache<Value>(limit: number, bytesOf: (value: Value) => number): ByteCache<Value> {
  // A Map remembers the order of insertion, so the first key is the one that was used longest ago.
  const values = new Map<string, Value>()
  let held = 0
  function remove(key: string, value: Value): void {
    values.delete(key)
    held -= cost(key, value)
  }
  const cost = (key: string, value: Value) => bytesOf(value) + 2 * key.length + overhead
  return {
    get(key) {
      const value = values.get(key)
      if (value === undefined) return undefined
      values.delete(key)
      values.set(key, value)
      return value
    },
    set(key, value) {
      const before = values.get(key)
      if (before !== undefined) remove(key, before)
      if (cost(key, value) > limit / 4) return
      values.set(key, value)
      held += cost(key, value)
      for (const [oldest, dropped] of values) {
        if (held <= limit) break
        remove(oldest, dropped)
      }
    },
  }
}

/** What an entry costs beside its bytes, roughly. */
const overhead = 256
