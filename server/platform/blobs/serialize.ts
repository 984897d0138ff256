/** Returns a queue per key: work with the same key runs one at a time, in call order. */
export function serializeByKey(): <Result>(key: string, work: () => Promise<Result>) => Promise<Result> {
  const last = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const before = last.get(key)
    const mine = (async () => {
      await before?.catch(() => {})
      return work()
    })()
    last.set(key, mine)
    try {
      return await mine
    } finally {
      if (last.get(key) === mine) last.delete(key)
    }
  }
}
