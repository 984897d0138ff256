import type { Config } from '../../platform/config/config.ts'
import { variables } from '../../platform/config/variables.ts'
import { nameOfDatabase } from '../../platform/db/location/missing.ts'
import { conflict, invalidInput } from '../../errors.ts'
import type { Moved } from '../move/move.ts'
import type { Outcome } from './command.ts'
import { counted } from './counted.ts'
import { showProgress } from './progress-line.ts'

const titles = { checking: 'Looking for changes in', copying: 'Copying', comparing: 'Comparing', indexing: 'Building the search index' }

/**
 * Moves all data from the SQLite file to an empty PostgreSQL database, given by `url` or POSTGRES_URL. A server may be running, but is read-only from
 * then on.
 * @returns the message for the operator.
 * @throws ApiError InvalidInput for the URL; Conflict, ConfigError when the move is not possible.
 */
export async function moveToPostgres(config: Config, url = config.POSTGRES_URL): Promise<Outcome> {
  const to = destination(config, url)
  // Imported on demand, since the module loads a large part of the server.
  const { moveDatabase } = await import('../move/move.ts')
  const progress = showProgress()
  const moved = await moveDatabase(config, to, ({ step, table, done, total }) => {
    const isIndex = step === 'indexing'
    progress.update(isIndex ? titles[step] : `${titles[step]} ${table}`, { done, total, unit: isIndex ? 'packages' : 'rows' })
  }).finally(() => progress.end())
  const database = nameOfDatabase(to)
  return { text: describe(config, database, moved), data: { database, ...moved } }
}

function destination(config: Config, url: string | undefined): Config {
  if (config.DB_BACKEND !== 'sqlite') throw conflict('The server already uses PostgreSQL. Run this with the settings of the SQLite file.')
  if (url === undefined) throw invalidInput('No target database. Give its URL as an argument or in POSTGRES_URL.')
  const read = variables.POSTGRES_URL.schema.safeParse(url)
  if (!read.success) throw invalidInput(`Invalid database URL: ${read.error.issues[0]?.message}.`)
  return { ...config, DB_BACKEND: 'postgres', POSTGRES_URL: read.data }
}

function describe({ SQLITE_PATH }: Config, name: string, { tables, isContinued }: Moved): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  return [
    ...tables.map((table) => `${table.sha256}  ${table.name}: ${counted(table.rows, 'rows')}`),
    `Moved to ${name}${isContinued ? ', continuing the interrupted move' : ''}: ${counted(rows, 'rows')} in ${counted(tables.length, 'tables')}, all verified. The search index is complete.`,
    `${SQLITE_PATH} was not changed and is now read-only: a server that runs on it rejects changes. Restart it with DB_BACKEND=postgres and POSTGRES_URL.`,
  ].join('\n')
}
