import { execFile } from 'node:child_process'
import { chmod, readdir, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { promisify } from 'node:util'
import { jobGroup } from './account.ts'
import { type Permissions } from './command.ts'
import { SandboxUnusable } from './problem.ts'

const execute = promisify(execFile)

/**
 * Transfers ownership of a job's folder to its account and makes the readable folders, such as an SDK, readable for all accounts. These contain no
 * secrets.
 */
export async function transferFolders({ folder, readable }: Permissions, account: number): Promise<void> {
  await execute('chown', ['-RP', `${account}:${jobGroup}`, folder])
  for (const path of readable) if (!(await allows(path, 0o005))) await execute('chmod', ['-R', 'o+rX', path])
}

/**
 * Allows every account to traverse the data directory to the folders of a job. The folders on the path cannot be listed, and their siblings are made
 * inaccessible.
 * @throws SandboxUnusable if a folder above the data directory cannot be traversed.
 */
export async function allowTraversal({ folder, readable }: Permissions, dataDir: string): Promise<void> {
  const ways = [folder, ...readable]
  const above = new Set(ways.flatMap(parentsOf))
  for (const path of above) {
    if (await allows(path, 0o001)) continue
    if (path !== dataDir && !path.startsWith(dataDir + sep)) throw new SandboxUnusable(shutMessage(path))
    await chmod(path, (await modeOf(path)) | 0o001)
  }
  if (!above.has(dataDir)) return
  for (const name of await readdir(dataDir)) {
    const path = join(dataDir, name)
    if (!above.has(path) && !ways.includes(path) && (await modeOf(path)) & 0o007) await chmod(path, (await modeOf(path)) & 0o770)
  }
}

const parentsOf = (path: string): string[] => (dirname(path) === path ? [] : [...parentsOf(dirname(path)), dirname(path)])

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o7777
const allows = async (path: string, rights: number): Promise<boolean> => ((await modeOf(path)) & rights) === rights

const shutMessage = (path: string) =>
  `The server runs as root, so jobs run under separate accounts, which cannot access ${path}. Run chmod o+x on this folder, run the server under its own account, or install bubblewrap and set SCORING_SANDBOX=bwrap.`
