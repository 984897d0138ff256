/**
 * Which statements of migrations, in their order, do more than add to the schema of the release before, whose servers go on beside them. Tables
 * that the statements make are unknown to it, so anything may happen to them; triggers, indexes and functions may be made anew.
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
      return !statements.slice(index + 1).some((later) => again.test(later.trim()))
    }
    return !additions.some((one) => one.test(sql)) && !addsColumns(sql)
  })
}

const additions = [
  /^create (?!unique index)/,
  /^(?:insert into|comment on|alter function) /,
  // Whatever it is, it is written out here.
  /^do \$\$ begin execute format\('alter function /,
]

/** Whether all that is altered are columns that may be left out. */
function addsColumns(sql: string): boolean {
  const parts = sql.replace(/^alter table (?:only )?\w+ /, '').split(/, (?=add |alter |drop |rename |validate )/)
  return sql.startsWith('alter table ') && parts.every((part) => /^add (?:column )/.test(part) && isOptional(part))
}

const isOptional = (column: string): boolean =>
  (!column.includes(' not null') || column.includes(' default ')) && !/ (?:unique|primary key|generated)\b/.test(column)
