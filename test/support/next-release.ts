import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { migrationNames } from '../../server/db/schema/migration-files.ts'
import { version } from '../../server/version.ts'
import { root } from './sources.ts'

/** The version of a release after this one. */
export const nextVersion = `${Number(version.split('.')[0]) + 1}.0.0`

/**
 * Writes the release after this one into a folder: these sources with another version, and with a migration that does to much used tables
 * all that a migration may. Gives the command that starts it.
 */
export function writeNextRelease(folder: string): string[] {
  const write = (path: string, content: string) => (
    mkdirSync(dirname(join(folder, path)), { recursive: true }),
    writeFileSync(join(folder, path), content)
  )
  cpSync(join(root, 'server'), join(folder, 'server'), { recursive: true, filter: (path) => path !== join(root, 'server', 'dist') })
  for (const linked of ['node_modules', 'web']) symlinkSync(join(root, linked), join(folder, linked))
  write('package.json', readFileSync(join(root, 'package.json'), 'utf8').replace(`"version": "${version}"`, `"version": "${nextVersion}"`))
  const previousRelease = { version, lastMigration: migrationNames('postgres').at(-1) }
  write('server/db/schema/previous-release.ts', `export const previousRelease = ${JSON.stringify(previousRelease)}\n`)
  write(`server/db/migrations/postgres/${nextMigration}.ts`, migration)
  return [process.execPath, join(folder, 'server', 'main.ts')]
}

/** What the release after this one does to the database. */
export const nextMigration = 'Migration29990101000000_next'

const migration = `import { Migration } from '@mikro-orm/migrations'

export class ${nextMigration} extends Migration {
  override up() {
    for (const table of ['packages', 'package_versions', 'audit_entries'])
      this.addSql(\`alter table "\${table}" add column next_note text, add column next_count int not null default 7;\`)
    this.addSql('create table next_notes (id uuid not null, package_id uuid references packages (id) on delete cascade, primary key (id));')
    this.addSql('create index packages_next_note on packages (next_note);')
  }
}
`
