import { randomInt } from 'node:crypto'
import { lstat, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { accountsInUse } from './processes.ts'

/**
 * Group id and number of account ids for jobs of a server that runs as root. No system assigns these ids, so such an account owns nothing but the
 * job's folder.
 */
export const jobGroup = 60_600
export const jobAccounts = 399

/** Start at a random id, because several servers may share a machine or disk. */
let next = randomInt(jobAccounts)

/**
 * Returns a free numeric account id for the job with this folder. The id is not used by any other job on this machine or below the same DATA_DIR,
 * because all processes of an account are killed when its job ends.
 * @throws Error if all ids are in use.
 */
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
