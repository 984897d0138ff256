import type { Migration } from '@mikro-orm/migrations'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { migrationNames } from '../../../server/platform/db/schema/migration-files.ts'
import { previousRelease } from '../../../server/platform/db/schema/migrate.ts'
import { compareParsed, known } from '../../../server/platform/pub/version.ts'
import { version } from '../../../server/platform/config/version.ts'
import { notAdditive } from '../../support/additive.ts'
import { root } from '../../support/sources.ts'

type MigrationClass = (new () => Migration) & {
  /** First release whose servers do not use what this migration removes, or satisfy its constraints. */
  after?: string
}

async function statementsOf(name: string): Promise<{ statements: string[]; after: string | undefined }> {
  const module = (await import(`../../../server/platform/db/migrations/postgres/${name}.ts`)) as Record<string, MigrationClass>
  const found = module[name]
  if (!found) throw new Error(`${name} is not in its file`)
  const migration = new found()
  await migration.up()
  return { statements: migration.getQueries().map(String), after: found.after }
}

it('has only migrations with which servers of the previous release keep working', async () => {
  const names = migrationNames('postgres')
  expect(names).toContain(previousRelease.lastMigration)
  const found = await Promise.all(names.slice(names.indexOf(previousRelease.lastMigration) + 1).map(statementsOf))
  const isReleased = (after: string | undefined) => after !== undefined && compareParsed(known(after), known(previousRelease.version)) <= 0
  // Checked together, because a table created by one migration may be changed by the next.
  expect(notAdditive(found.filter(({ after }) => !isReleased(after)).flatMap(({ statements }) => statements))).toEqual([])
})

it('names the previous release of the changelog', () => {
  const released = [...readFileSync(join(root, 'CHANGELOG.md'), 'utf8').matchAll(/^## \[(\d\S*)\]/gm)].map(([, one]) => one)
  expect(released.find((one) => one !== version)).toBe(previousRelease.version)
  expect(compareParsed(known(version), known(previousRelease.version))).toBeGreaterThan(0)
})

it.each([
  'drop table "users";',
  'drop trigger audit_entries_keep on "audit_entries";',
  'alter table "users" drop column "bio";',
  'alter table "users" rename column "bio" to "about";',
  'alter table "users" alter column "bio" set not null;',
  'alter table "users" add column "nick" varchar(9) not null;',
  'alter table "users" add column "nick" varchar(9), add constraint "nick_unique" unique ("nick");',
  'alter table "users" add column "nick" varchar(9) unique;',
  'alter table "users" add constraint "bio_check" check (bio <> \'\');',
  'create unique index "users_bio" on "users" ("bio");',
  "alter type role rename value 'viewer' to 'reader';",
  "update users set role = 'reader' where role = 'viewer';",
  'delete from users;',
  'truncate users;',
  "do $$ begin execute 'drop table users'; end $$;",
])('rejects statements that break the previous release: %s', (statement) => {
  expect(notAdditive([statement])).toEqual([statement])
})

it('accepts additions, and all changes of new tables', () => {
  const statements = [
    'create table "notes" ("id" uuid not null, primary key ("id"));',
    'alter table "notes" add constraint "notes_unique" unique ("id");',
    'create unique index "notes_text" on "notes" ("id");',
    'alter table "notes" drop column "id";',
    'alter table "users" add column "nick" varchar(9), add column "age" int not null default 0;',
    'alter table "users" add column "friend" uuid null references "users" ("id") on delete set null;',
    'create index "users_nick" on "users" ("nick");',
    'drop trigger "audit_entries_keep" on "audit_entries";',
    'create trigger audit_entries_keep before update on "audit_entries" for each statement execute function audit_entries_keep();',
    "insert into server_settings (key, value) values ('a', '1');",
  ]
  expect(notAdditive(statements)).toEqual([])
})
