import type { MikroORM } from '@mikro-orm/sql'
import { DatabaseAway } from '../unavailable.ts'

/** Returns a write probe. Concurrent callers share one run. */
export function writeProbe(orm: MikroORM): (timeoutMs?: number) => Promise<void> {
  let probing: Promise<void> | null = null
  return async (timeoutMs = 1500) => {
    probing ??= probe(orm).finally(() => (probing = null))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new DatabaseAway(`A write took longer than ${timeoutMs} ms.`)), timeoutMs)
    })
    try {
      await Promise.race([probing, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Writes in a transaction like any other, so that a stuck writer is detected. All instances share the row; its value has no meaning. */
async function probe(orm: MikroORM): Promise<void> {
  await orm.em
    .fork()
    .transactional((em) =>
      em.execute(
        'insert into write_probe (id, count) values (1, 1) on conflict (id) do update set count = write_probe.count % 1000000 + 1',
      ),
    )
}
