import { mkdtemp, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../../platform/config/config.ts'
import { lowFileLimit, openFileLimit } from '../../../platform/config/warnings.ts'
import { requireCreatable, explainFileError } from '../../../platform/config/paths.ts'
import { isThere } from '../../../platform/db/location/files.ts'
import { readFreeBytes, localVolumes } from '../../../platform/store/health.ts'
import { oldestNode, version } from '../../../platform/config/version.ts'
import { type Check, failed, messageOf, passed, sizeOf, warning } from './check.ts'

/** Checks that DATA_DIR is writable, by creating and removing a folder. */
export async function checkFolder({ DATA_DIR }: Config): Promise<Check[]> {
  try {
    requireCreatable(DATA_DIR)
    if (!isThere(DATA_DIR))
      return [warning('folder', `DATA_DIR: ${DATA_DIR} does not exist yet.`, 'The server creates it at its first start.')]
    await rmdir(await mkdtemp(join(DATA_DIR, 'doctor-')))
    return [passed('folder', `${DATA_DIR} is writable.`)]
  } catch (error) {
    const reason = explainFileError(error as NodeJS.ErrnoException, DATA_DIR) ?? messageOf(error)
    return [failed('folder', `DATA_DIR: ${reason}`)]
  }
}

/** Checks the free space of all volumes that the server writes to. */
export async function checkSpace(config: Config): Promise<Check[]> {
  const folders = [
    config.DATA_DIR,
    ...localVolumes(config).map(({ folder }) => folder),
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
  const free = await readFreeBytes(folder)
  const message = `${sizeOf(free)} are free at ${folder}.`
  if (free >= 10 * MIN_FREE_BYTES) return passed('space', message)
  const limit = `Free up space: below MIN_FREE_BYTES (${sizeOf(MIN_FREE_BYTES)}), the server rejects uploads.`
  return (free < MIN_FREE_BYTES ? failed : warning)('space', message, limit)
}

/** Checks that the command runs as the owner of the data. The server might not be able to modify files created by another account. */
export async function checkAccount({ DATA_DIR }: Config): Promise<Check[]> {
  const facts = await stat(DATA_DIR).catch(() => null)
  const own = process.getuid?.()
  if (!facts || own === undefined || own === facts.uid) return []
  const message = `${DATA_DIR} is owned by uid ${facts.uid}, but this command runs as uid ${own}.`
  const advice = `Run commands as the account of the server, for example: sudo -u '#${facts.uid}' …`
  return [warning('account', message, advice)]
}

/** Checks the limit of open files of this process, which is that of a server started in the same way. */
export function checkOpenFileLimit(limit = openFileLimit()): Check {
  const problem = lowFileLimit(limit)
  return problem === null
    ? passed('open files', `This process may open ${limit ?? 'any number of'} files.`)
    : warning('open files', problem)
}

/** Checks the versions of Node and of this program, and compares the latter with the running server's; null if none is running. */
export function checkVersions(running: string | null): Check[] {
  const message = `This is Snug ${version} with Node ${process.versions.node}${running === null ? '' : `; the running server is Snug ${running}`}.`
  if (isOlder(process.versions.node, oldestNode)) return [failed('versions', message, `Node ${oldestNode} or newer is required.`)]
  if (running !== null && running !== version)
    return [warning('versions', message, 'Restart the server, or run this command with the version of the server.')]
  return [passed('versions', message)]
}

function isOlder(given: string, needed: string): boolean {
  const numbers = (text: string) => (text.match(/\d+/g) ?? []).map(Number)
  const [[major = 0, minor = 0], [neededMajor = 0, neededMinor = 0]] = [numbers(given), numbers(needed)]
  return major < neededMajor || (major === neededMajor && minor < neededMinor)
}

/** Above this difference, users notice: sign-ins and tokens expire too early or too late. */
const noticedMs = 5000
/** Above this difference, S3 services reject requests or soon will. */
const rejectedMs = 5 * 60_000

/** Checks this machine's clock against others. Values are the milliseconds by which this machine is ahead; null if unknown. */
export function clockOf(ahead: Record<string, number | null>): Check[] {
  const known = Object.entries(ahead).flatMap(([of, ms]) => (ms === null ? [] : [{ of, ms }]))
  if (known.length === 0) return []
  const worst = Math.max(...known.map(({ ms }) => Math.abs(ms)))
  const message = `Clock comparison: ${known.map(({ of, ms }) => `this machine is ${difference(ms)} the ${of}`).join(', ')}.`
  if (worst < noticedMs) return [passed('clocks', message)]
  return [(worst < rejectedMs ? warning : failed)('clocks', message, 'Synchronize the clocks of all machines with NTP.')]
}

function difference(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 100) / 10
  if (seconds < 1) return 'in sync with'
  return `${seconds} s ${ms > 0 ? 'ahead of' : 'behind'}`
}
