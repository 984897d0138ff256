import { isAbsolute, relative } from 'node:path'
import { type Config, ConfigError } from '../../config/config.ts'
import { preparePlaces } from '../create.ts'
import { placesIn } from '../layout.ts'

type Places = Pick<Config, 'BACKUP_TO' | 'BLOB_PATH' | 'DOCS_PATH'>

/**
 * Makes the folder of the scheduled backups, if there are to be any.
 * @throws ConfigError when it cannot be used.
 */
export async function checkBackupPlace({ BACKUP_TO, BLOB_PATH, DOCS_PATH }: Places): Promise<void> {
  if (BACKUP_TO === undefined) return
  for (const [name, path] of Object.entries({ BLOB_PATH, DOCS_PATH }))
    if (isWithin(BACKUP_TO, path)) throw new ConfigError([`BACKUP_TO: ${BACKUP_TO} is in ${name}. Name a folder apart from the data.`])
  try {
    await preparePlaces(placesIn(BACKUP_TO))
  } catch (error) {
    throw new ConfigError([`BACKUP_TO: ${error instanceof Error ? error.message : String(error)}`])
  }
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(way.startsWith('..') || isAbsolute(way))
}
