import { randomInt } from 'node:crypto'
import { lstat, readdir, chmod, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { accountsInUse } from './processes.ts'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Permissions, SandboxUnusable } from './capabilities.ts'

/** Group id and number of account ids for jobs of a server that runs as root. No system assigns these ids, so they own only the job's folder. */
export const jobGroup = 60_600
export const jobAccounts = 399

/** Start at a random id, because several servers may share a machine or disk. */
let next = randomInt(jobAccounts)

/** Returns an account id that no other job uses, because all its processes are killed when the job ends. @throws Error if all are in use. */
export async function findFreeAccount(folder: string): Promise<number> {
  const taken = new Set([...accountsInUse(), ...(await ownersIn(dirname(folder)))])
  for (let round = 0; round < jobAccounts; round++) {
    const account = jobGroup + 1 + (next++ % jobAccounts)
    if (!taken.has(account)) return account
  }
  throw new Error(`All accounts for jobs (${jobGroup + 1} to ${jobGroup + jobAccounts}) are in use.`)
}

async function ownersIn(place: string): Promise<number[]> {
  const found = await Promise.all((await readdir(place)).map((name) => lstat(join(place, name)).catch(() => null)))
  return found.flatMap((one) => one?.uid ?? [])
}

const execute = promisify(execFile)

/** Gives a job's folder to its account, and makes the readable folders, such as an SDK, readable for all accounts. They contain no secrets. */
export async function transferFolders({ folder, readable }: Permissions, account: number): Promise<void> {
  await execute('chown', ['-RP', `${account}:${jobGroup}`, folder])
  for (const path of readable) if (!(await allows(path, 0o005))) await execute('chmod', ['-R', 'o+rX', path])
}

/**
 * Allows every account to traverse the data directory to a job's folders, but not to list it, and makes their siblings inaccessible. @throws
 * SandboxUnusable if a folder above the data directory cannot be traversed.
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
