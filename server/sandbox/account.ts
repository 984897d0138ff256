import { randomInt } from 'node:crypto'
import { lstat, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { accountsAtWork } from './processes.ts'

/** Groups and accounts that no system gives out, so that a job of a server that runs as root owns nothing but its folder. */
export const jobGroup = 60_600
export const jobAccounts = 399

/** Several servers may share a machine or a disk, so each begins elsewhere. */
let next = randomInt(jobAccounts)

/**
 * An account for the job with this folder, as a number; none is named in any list of accounts. No other job has it that another server on this
 * machine runs, or one with the same DATA_DIR: all that runs under an account is ended with its job.
 * @throws Error when every account has a job.
 */
export async function freeAccount(folder: string): Promise<number> {
  const taken = new Set([...accountsAtWork(), ...(await ownersIn(dirname(folder)))])
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
