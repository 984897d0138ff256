import type { MikroORM } from '@mikro-orm/sql'
import { DatabaseAway } from '../unavailable.ts'

/** Makes the function that finds out whether the database takes a write. Whoever asks while a probe is under way waits for that one. */
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

/** In a transaction like every other, so that a writer that is stuck shows. The row says nothing; several instances share it. */
async function probe(orm: MikroORM): Promise<void> {
  await orm.em
    .fork()
    .transactional((em) =>
      em.execute(
        'insert into write_probe (id, count) values (1, 1) on conflict (id) do update set count = write_probe.count % 1000000 + 1',
      ),
    )
}
