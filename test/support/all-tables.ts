import type { EntityMetadata, EntityProperty } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { newId } from '../../server/platform/db/base.ts'
import { db, type Query, type Tables } from '../../server/platform/db/query.ts'
import { sha256 } from '../../server/platform/http/keys.ts'
import { changeRows, readRows, type Value } from '../../server/platform/db/statements.ts'

/** Characters that formats of rows escape, or that have several bytes. */
const odd = '\\N \\. \t\r\n \u2028 é 🎯 \' " '

/** Columns whose values the server reads when it builds the search index, or that SQL restricts. */
const readable: Record<string, readonly Value[]> = {
  'packages.name': ['acme', 'beta'],
  'package_versions.archive_bytes': [1, 2],
  'package_versions.version': ['1.0.0', '2.0.0'],
  'version_docs.bytes': [null, 3],
  'package_versions.pubspec': ['{"name":"acme"}', '{"name":"beta"}'],
}

/** Accepts rows only along with deletions of audit entries. `test/audit/retention.test.ts` restores them. */
export const guarded = 'audit_cuts'

type Row = Record<string, Value>

/**
 * Inserts two rows into the table of every entity: one with a value in each column, and one with null where a column allows it. Tables and columns of
 * the future are included, because they are read from the metadata.
 */
export async function fillAllTables(em: EntityManager): Promise<void> {
  const keys = new Map<string, Row[]>()
  for (const table of inOrderOfReference([...em.getMetadata().getAll().values()])) {
    if (table.tableName === guarded) continue
    const rows: Row[] = []
    for (const isFull of [false, true]) {
      const row: Row = {}
      for (const property of table.props) {
        const [column = ''] = property.fieldNames
        const isOwn = property.targetMeta?.tableName === table.tableName
        const target = isOwn ? rows : (keys.get(property.targetMeta?.tableName ?? '') ?? [])
        const isEmpty = (property.nullable && !isFull) || (isOwn && target.length === 0)
        row[column] = isEmpty ? null : ((target[isFull ? 1 : 0] ?? target[0])?.[referenced(property)] ?? valueOf(table, property, isFull))
      }
      const columns = Object.keys(row)
      const names = columns.map((column) => `"${column}"`).join(', ')
      const sql = `insert into "${table.tableName}" (${names}) values (${columns.map(() => '?').join(', ')})`
      await changeRows(em, sql, Object.values(row))
      rows.push(row)
    }
    keys.set(table.tableName, rows)
  }
}

const referenced = ({ referencedColumnNames }: EntityProperty): string => referencedColumnNames?.[0] ?? ''

/** Sorts tables so that each comes after the tables that it refers to. */
function inOrderOfReference(tables: EntityMetadata[]): EntityMetadata[] {
  const sorted = new Map<string, EntityMetadata>()
  const add = (table: EntityMetadata | undefined) => {
    if (!table || sorted.has(table.tableName)) return
    for (const { targetMeta } of table.props)
      if (targetMeta && targetMeta.tableName !== table.tableName) add(tables.find(({ tableName }) => tableName === targetMeta.tableName))
    sorted.set(table.tableName, table)
  }
  for (const table of tables) add(table)
  return [...sorted.values()]
}

/** Returns a value that suits the type of a column, different in both rows. */
function valueOf(table: EntityMetadata, property: EntityProperty, isFull: boolean): Value {
  const { fieldNames, items, length, runtimeType, columnTypes } = property
  const fixed = readable[`${table.tableName}.${fieldNames[0]}`]?.[Number(isFull)]
  if (fixed !== undefined) return fixed
  if (items) return items.at(isFull ? -1 : 0) ?? null
  if (runtimeType === 'Date') return new Date(Date.UTC(2026, 1, 3, 4, 5, 6, isFull ? 789 : 120))
  if (runtimeType === 'boolean') return isFull
  if (runtimeType === 'Buffer') return Buffer.from([0, 1, 10, 13, 92, 255, Number(isFull)])
  if (runtimeType === 'number') return (columnTypes[0] === 'bigint' ? 2 ** 33 : 7) + Number(isFull)
  if (length === 36 || columnTypes[0] === 'uuid') return newId()
  if (/sha256/i.test(property.name)) return sha256(`${property.name} ${isFull}`)
  return `${Number(isFull)} ${property.name}${odd}`.slice(0, length ?? 200)
}

/** Returns all rows of all entities as the server reads them, by table. */
export async function readAllTables(em: EntityManager): Promise<Record<string, object[]>> {
  const found: Record<string, object[]> = {}
  for (const { tableName } of em.getMetadata().getAll().values()) {
    const rows: object[] = await readRows(em, db.selectFrom(tableName as keyof Tables).selectAll() as Query<object>)
    found[tableName] = rows.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
  }
  return found
}
