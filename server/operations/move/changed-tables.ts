import { hasSameRows } from './compare-table.ts'
import { copiedNote } from './target.ts'
import type { Move } from './progress.ts'

/** Search tables. They are derived from the other tables, so they are rebuilt when any of those changed. */
const index = [
  'package_search_documents',
  'package_search_brief',
  'package_search_full',
  'package_search_excerpts',
  'package_search_excerpts_brief',
  'package_search_excerpts_full',
]

/**
 * Prepares the continuation of an interrupted move: clears the target tables whose copied rows differ from the SQLite file, and the tables that
 * refer to them. Rows appended after the last copied row are left to the copy step.
 */
export async function clearChangedTables({ source, target, tables, report }: Move): Promise<void> {
  const copied: number[] = []
  for (const { name } of tables) copied.push(Number((await target.read(copiedNote(name))) ?? 0))
  const total = copied.reduce((sum, count) => sum + count, 0)
  const changed: string[] = []
  let [before, isIndexed] = [0, true]
  for (const [position, table] of tables.entries()) {
    const count = copied[position] ?? 0
    isIndexed &&= count === source.count(table.name)
    if (count === 0) continue
    const reportRows = (done: number) => report({ step: 'checking', table: table.name, done: before + done, total })
    if (!(await hasSameRows(source, target.client, table, count, reportRows))) changed.push(table.name)
    before += count
  }
  if (changed.length > 0 || !isIndexed) await target.clear([...changed, ...index])
}
