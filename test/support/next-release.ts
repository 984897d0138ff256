import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { migrationNames } from '../../server/platform/db/schema/migration-files.ts'
import { version } from '../../server/platform/config/version.ts'
import { root } from './sources.ts'

/** Version of the simulated next release. */
export const nextVersion = `${Number(version.split('.')[0]) + 1}.0.0`

/**
 * Writes a simulated next release to a folder: these sources with a higher version and an additional migration, which makes every permitted kind of
 * change to frequently used tables. Returns the command that starts it.
 */
export function writeNextRelease(folder: string): string[] {
  const write = (path: string, content: string) => (
    mkdirSync(dirname(join(folder, path)), { recursive: true }),
    writeFileSync(join(folder, path), content)
  )
  cpSync(join(root, 'server'), join(folder, 'server'), { recursive: true, filter: (path) => path !== join(root, 'server', 'dist') })
  for (const linked of ['node_modules', 'web']) symlinkSync(join(root, linked), join(folder, linked))
  const replace = (path: string, pattern: string | RegExp, text: string) =>
    write(path, readFileSync(join(root, path), 'utf8').replace(pattern, text))
  replace('package.json', `"version": "${version}"`, `"version": "${nextVersion}"`)
  const previousRelease = JSON.stringify({ version, lastMigration: migrationNames('postgres').at(-1) })
  replace(
    'server/platform/db/schema/migrate.ts',
    /^export const previousRelease = .*$/m,
    `export const previousRelease = ${previousRelease}`,
  )
  write(`server/platform/db/migrations/postgres/${nextMigration}.ts`, migration)
  return [process.execPath, join(folder, 'server', 'main.ts')]
}

/** Name of the migration of the simulated next release. */
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
