import type { Client } from 'pg'
import { z } from 'zod'

const rowsShape = z.array(z.object({ name: z.string(), needs: z.array(z.string()) }))

/**
 * Sorts the tables of the schema so that each comes after the tables that its foreign keys refer to.
 * @throws Error for circular references.
 */
export async function byReference(client: Client): Promise<string[]> {
  const { rows } = await client.query(
    `select c.relname as name, coalesce(json_agg(r.relname) filter (where r.relname is not null), '[]') as needs
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
       left join pg_constraint k on k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid
       left join pg_class r on r.oid = k.confrelid
     where n.nspname = current_schema() and c.relkind = 'r' group by c.relname order by c.relname`,
  )
  const waiting = new Map(rowsShape.parse(rows).map(({ name, needs }) => [name, needs]))
  const ordered: string[] = []
  while (waiting.size > 0) {
    const free = [...waiting].filter(([, needs]) => needs.every((need) => !waiting.has(need))).map(([name]) => name)
    if (free.length === 0) throw new Error(`These tables refer to each other in a circle: ${[...waiting.keys()].join(', ')}`)
    for (const name of free) waiting.delete(name)
    ordered.push(...free)
  }
  return ordered
}
