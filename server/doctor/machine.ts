import { mkdtemp, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '../config/config.ts'
import { requireMakeable } from '../config/make-folders.ts'
import { reasonOf } from '../config/place-problem.ts'
import { isThere } from '../db/location/is-there.ts'
import { oldestNode, version } from '../version.ts'
import { type Check, messageOf, sizeOf } from './check.ts'

/** Looks whether the server can write to DATA_DIR, by making a folder there and removing it. */
export async function checkFolder({ DATA_DIR }: Config): Promise<Check[]> {
  const check = { name: 'folder' }
  try {
    requireMakeable(DATA_DIR)
    if (!isThere(DATA_DIR))
      return [{ ...check, status: 'warning', message: `DATA_DIR: ${DATA_DIR} does not exist yet.`, advice: madeAtStart }]
    await rmdir(await mkdtemp(join(DATA_DIR, 'doctor-')))
    return [{ ...check, status: 'ok', message: `${DATA_DIR} can be written to.` }]
  } catch (error) {
    const reason = reasonOf(error as NodeJS.ErrnoException, DATA_DIR) ?? messageOf(error)
    return [{ ...check, status: 'failed', message: `DATA_DIR: ${reason}` }]
  }
}

const madeAtStart = 'The server makes it when it starts for the first time.'

/** Looks how much is free on every volume that the server writes to. */
export async function checkSpace(config: Config): Promise<Check[]> {
  const folders = [
    config.DATA_DIR,
    ...(config.DB_BACKEND === 'sqlite' ? [dirname(config.SQLITE_PATH)] : []),
    ...(config.BLOB_BACKEND === 'filesystem' ? [config.BLOB_PATH] : []),
    ...(config.DOCS_BACKEND === 'filesystem' ? [config.DOCS_PATH] : []),
  ]
  const volumes = new Map<number, string>()
  for (const folder of folders) {
    const facts = await stat(folder).catch(() => null)
    if (facts && !volumes.has(facts.dev)) volumes.set(facts.dev, folder)
  }
  return Promise.all([...volumes.values()].map((folder) => spaceOf(folder, config)))
}

async function spaceOf(folder: string, { MIN_FREE_BYTES }: Config): Promise<Check> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  const check = { name: 'space', message: `${sizeOf(free)} are free at ${folder}.` }
  if (free >= 10 * MIN_FREE_BYTES) return { ...check, status: 'ok' }
  const limit = `Make room: below MIN_FREE_BYTES (${sizeOf(MIN_FREE_BYTES)}) the server accepts no archives.`
  return { ...check, status: free < MIN_FREE_BYTES ? 'failed' : 'warning', advice: limit }
}

/** Looks whether this runs as the account that the data belong to: what another one makes, the server may not be able to change. */
export async function checkAccount({ DATA_DIR }: Config): Promise<Check[]> {
  const facts = await stat(DATA_DIR).catch(() => null)
  const own = process.getuid?.()
  if (!facts || own === undefined || own === facts.uid) return []
  const message = `${DATA_DIR} belongs to the account with the number ${facts.uid}, and this runs as ${own}.`
  const advice = `Run commands with the account of the server, for example: sudo -u '#${facts.uid}' …`
  return [{ name: 'account', status: 'warning', message, advice }]
}

/** Compares the versions of Node and this program with what is needed, and with that of the server that runs; null when none does. */
export function checkVersions(running: string | null): Check[] {
  const message = `This is Snug ${version} with Node ${process.versions.node}${running === null ? '' : `; the server that runs is Snug ${running}`}.`
  const check = { name: 'versions', message }
  if (isOlder(process.versions.node, oldestNode)) return [{ ...check, status: 'failed', advice: `Node ${oldestNode} or newer is needed.` }]
  if (running !== null && running !== version)
    return [{ ...check, status: 'warning', advice: 'Restart the server, or run this command where its version is.' }]
  return [{ ...check, status: 'ok' }]
}

function isOlder(given: string, needed: string): boolean {
  const numbers = (text: string) => (text.match(/\d+/g) ?? []).map(Number)
  const [[major = 0, minor = 0], [neededMajor = 0, neededMinor = 0]] = [numbers(given), numbers(needed)]
  return major < neededMajor || (major === neededMajor && minor < neededMinor)
}
