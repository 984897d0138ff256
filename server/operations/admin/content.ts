import { constants } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { importAdvisories } from '../../registry/advisories/import.ts'
import { importSdk } from '../../analysis/sdks/installing/import.ts'
import { sdkTitle } from '../../analysis/sdks/service.ts'
import type { Operation, Outcome } from './command.ts'
import { addAddress, forgetAddress, listAddresses } from '../identity/addresses.ts'

/** Imports the security advisories in a file. Throws InvalidInput; Error when the file cannot be read. */
export async function importAdvisoryFile({ em }: Operation, path = ''): Promise<string> {
  await requireFile(path)
  const text = await readFile(path, 'utf8')
  const { imported, updated, unchanged } = await importAdvisories({ em, actor: null, now: new Date() }, text)
  return `Imported ${imported.length}, updated ${updated.length}, unchanged ${unchanged.length}.`
}

/** Imports an SDK archive, which the server then installs. Throws InvalidInput or Conflict, or Error if it cannot be read. */
export async function importSdkFile({ em, config }: Operation, path = ''): Promise<string> {
  await requireFile(path)
  const install = await importSdk({ em, config }, path, new Date())
  return `${sdkTitle(install)} (${install.channel}) was imported. The server installs it now, or when it starts. For the progress see /admin/sdks.`
}

/** Checks that a file is readable. Pipes are allowed. Throws Error that names the file and the problem. */
export async function requireFile(path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) throw new Error(`${path} is a folder. Name a file.`)
    await access(path, constants.R_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new Error(`File ${path} not found (${code}). Relative paths are resolved from ${process.cwd()}.`, { cause: error })
    if (code === 'EACCES')
      throw new Error(`${path} cannot be read: permission denied. Make it readable for the current user.`, { cause: error })
    throw error
  }
}

/** Lists the addresses that count as this server, one per line, most recently used first. */
export async function listServerAddresses({ em }: Operation): Promise<Outcome> {
  const addresses = (await listAddresses(em)).map(({ address, lastUsedAt }) => ({ address, lastUsedAt: lastUsedAt.toISOString() }))
  return { text: addresses.map(({ address, lastUsedAt }) => `${address} (last used ${lastUsedAt})`).join('\n'), data: { addresses } }
}

/** Adds a former address of the server. Throws InvalidInput for an invalid URL; Conflict when the address is already known. */
export async function rememberServerAddress({ em }: Operation, url: string): Promise<string> {
  return `${await addAddress(em, url, new Date())} counts as this server. ${searchLater}`
}

/** Removes a former address of the server. Throws NotFound; Conflict for the current address. */
export async function forgetServerAddress({ em, config }: Operation, url: string): Promise<string> {
  return `${await forgetAddress(em, config, url)} no longer counts as this server. ${searchLater}`
}

const searchLater = 'The search index is updated at the next start of the server.'
