import DataLoader from 'dataloader'
import type { EntityManager } from '@mikro-orm/sql'

type Request = { em: EntityManager }

/**
 * A look-up that gathers the keys asked for at the same moment and loads them together, so that a list of fifty costs one query.
 * `load` gives a map from key to value; what is not in it is null. Nothing is remembered: a later look sees what changed since.
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
      loader = new DataLoader(loadAll, { cache: false })
      loaders.set(em, loader)
    }
    return loader.load(key)
  }
}
