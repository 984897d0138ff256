/**
 * Returns the migration statements that do more than add to the schema of the previous release, whose servers keep running during an upgrade.
 * Statements are given in execution order. Tables created by them are unknown to the previous release and may be changed freely. Triggers, indexes
 * and functions may be dropped if a later statement creates them again.
 */
export function notAdditive(statements: readonly string[]): string[] {
  const made = new Set<string>()
  return statements.filter((statement, index) => {
    const sql = statement.replaceAll('"', '').replace(/\s+/g, ' ').trim().replace(/;$/, '').toLowerCase()
    const table = /^create table (?:if not exists )?(\w+)/.exec(sql)?.[1]
    if (table !== undefined) made.add(table)
    const on = /^(?:alter table (?:only )?|drop table (?:if exists )?|create unique index \w+ on )(\w+)/.exec(sql)?.[1]
    if (on !== undefined && made.has(on)) return false
    const dropped = /^drop (trigger|index|function) (?:if exists )?(\w+)/.exec(sql)
    if (dropped) {
      const again = new RegExp(`^create (?:unique )?(?:or replace )?${dropped[1]} "?${dropped[2]}\\b`, 'i')
      // An index with more columns, after whose first ones the dropped index is named.
      const longer = new RegExp(`^create index "?${dropped[2]?.replace(/_index$/, '_')}\\w+_index\\b`, 'i')
      return !(
        statements.slice(index + 1).some((later) => again.test(later.trim())) || statements.some((other) => longer.test(other.trim()))
      )
    }
    return !additions.some((one) => one.test(sql)) && !addsColumns(sql)
  })
}

const additions = [
  /^create (?!unique index)/,
  /^(?:insert into|comment on|alter function) /,
  // Changes settings of functions. The statement is dynamic, so it is matched by its beginning.
  /^do \$\$ begin execute format\('alter function /,
]

/** Reports whether a statement only adds columns that INSERTs may omit. */
function addsColumns(sql: string): boolean {
  const parts = sql.replace(/^alter table (?:only )?\w+ /, '').split(/, (?=add |alter |drop |rename |validate )/)
  return sql.startsWith('alter table ') && parts.every((part) => /^add (?:column )/.test(part) && isOptional(part))
}

const isOptional = (column: string): boolean =>
  (!column.includes(' not null') || column.includes(' default ')) && !/ (?:unique|primary key|generated)\b/.test(column)
