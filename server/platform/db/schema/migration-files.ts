import { hash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../migrations')
const databases = ['sqlite', 'postgres'] as const

/** The file with the checksums of released migrations, which must not change. */
export const sealFile = join(root, 'checksums.json')

/** Returns the names of a database's migrations in execution order. */
export const migrationNames = (database: (typeof databases)[number]): string[] =>
  readdirSync(join(root, database))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3))
    .toSorted()

/** Returns the SHA-256 of every migration, by path relative to the migrations folder. */
export function checksums(): Record<string, string> {
  const paths = databases.flatMap((database) => migrationNames(database).map((name) => `${database}/${name}.ts`))
  return Object.fromEntries(paths.map((path) => [path, hash('sha256', readFileSync(join(root, path)))]))
}

/**
 * Creates an empty migration for each database and returns the paths. Stores the checksums of the existing ones, which must not change any more.
 * @throws Error if the name is invalid or taken.
 */
export function addMigration(name: string, today: Date): string[] {
  if (!/^[a-z][a-z0-9_]{2,59}$/.test(name)) throw new Error('Name the migration in lowercase words: npm run migration -- package_topics')
  const earlier = migrationNames('sqlite')
  if (earlier.some((one) => one.endsWith(`_${name}`))) throw new Error(`Migration ${name} already exists. Choose another name.`)
  writeFileSync(sealFile, `${JSON.stringify(checksums(), null, 2)}\n`)
  const title = `Migration${numberAfter(earlier.at(-1), today)}_${name}`
  return databases.map((database) => {
    const path = join(root, database, `${title}.ts`)
    writeFileSync(path, emptyMigration(title))
    return path
  })
}

/** Returns a 14-digit number: the date and a counter. */
function numberAfter(last: string | undefined, today: Date): bigint {
  const next = BigInt(/\d+/.exec(last ?? '')?.[0] ?? 0) + 1n
  const first = BigInt(`${today.toISOString().slice(0, 10).replaceAll('-', '')}000001`)
  return next > first ? next : first
}

const emptyMigration = (title: string): string => `import { Migration } from '@mikro-orm/migrations'

export class ${title} extends Migration {
  override up() {
    this.addSql('')
  }
}
`
