import DataLoader from 'dataloader'
import type { EntityManager } from '@mikro-orm/sql'
import { currentPause } from './meter.ts'

type Request = { em: EntityManager }

/**
 * Returns a batched lookup (DataLoader): one query loads the keys requested in the same tick, or before and after a pause of the request.
 * Missing keys resolve to null. Results are not cached.
 */
export function batched<Value>(
  load: (em: EntityManager, keys: string[]) => Promise<ReadonlyMap<string, Value>>,
): (request: Request, key: string) => Promise<Value | null> {
  const loaders = new WeakMap<EntityManager, DataLoader<string, Value | null>>()
  return ({ em }, key) => {
    let loader = loaders.get(em)
    if (!loader) {
      const loadAll = async (keys: readonly string[]) => {
        const found = await load(em, [...new Set(keys)])
        return keys.map((one) => found.get(one) ?? null)
      }
      loader = new DataLoader(loadAll, { cache: false, batchScheduleFn: scheduleWhole })
      loaders.set(em, loader)
    }
    return loader.load(key)
  }
}

/** Sends a batch after the current tick. While the request pauses, waits for the fields that resume after the pause, so that they join the batch. */
function scheduleWhole(send: () => void): void {
  const again = () => scheduleWhole(send)
  queueMicrotask(() =>
    process.nextTick(() => {
      const pause = currentPause()
      if (pause) pause.then(again, again)
      else send()
    }),
  )
}
