import { dialectOf } from './dialects.ts'
import type { Reach, Source } from './selection.ts'

/** Names that differ from the one that was typed by a slip or two, the nearest first. */
export async function suggestNames(
  { heavyReads, backend }: Source,
  typed: string,
  reaches: readonly Reach[],
  limit = 3,
): Promise<string[]> {
  if (!/^\w{4,64}$/.test(typed)) return []
  const rows: { name: string }[] = []
  for (const reach of reaches) {
    const { sql, parameters } = dialectOf(backend).similar(typed, reach, candidates)
    rows.push(...(await heavyReads.all<{ name: string }>(sql, ...parameters)))
  }
  const slips = Math.max(1, Math.floor(typed.length / 4))
  return rows
    .map(({ name }) => ({ name, distance: distance(typed, name) }))
    .filter((candidate) => candidate.distance <= slips)
    .toSorted((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, limit)
    .map(({ name }) => name)
}

const candidates = 50

/** How many letters must be put in, taken out, changed, or swapped with a neighbour (optimal string alignment). */
function distance(a: string, b: string): number {
  let [beforeLast, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(beforeLast, j - 2) + 1 : Infinity
      row.push(Math.min(at(last, j) + 1, at(row, j - 1) + 1, replaced, swapped))
    }
    ;[beforeLast, last] = [last, row]
  }
  return at(last, b.length)
}

const at = (row: number[], index: number) => row[index] ?? Infinity
