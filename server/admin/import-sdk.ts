import { importSdk } from '../sdks/installing/import.ts'
import { titleOf } from '../sdks/service.ts'
import type { Operation } from './command.ts'

/**
 * Takes in the archive of an SDK for the server to install.
 * @returns what to tell the operator.
 * @throws ApiError InvalidInput, Conflict; Error when the file cannot be read or there is no room for it.
 */
export async function importSdkFile({ em, config }: Operation, path = ''): Promise<string> {
  const install = await importSdk({ em, config }, path, new Date())
  return `${titleOf(install)} (${install.channel}) was taken in: the server installs it, at once or when it starts. /admin/sdks shows how far it is.`
}
