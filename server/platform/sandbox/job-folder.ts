import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { renameSync, rmSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Config } from '../config/config.ts'
import { isLocked, lockSqlite } from '../db/location/files.ts'
import { systemPath } from './capabilities.ts'
import { killMarked, markOf } from './processes.ts'

const execute = promisify(execFile)

type Place = Pick<Config, 'DATA_DIR'>
const placeOf = ({ DATA_DIR }: Place) => join(DATA_DIR, 'jobs')

/** Age in milliseconds after which files of other machines that share the disk are considered abandoned. */
const otherMachinesMs = 86_400_000

/** Creates an empty folder for a job. A lock file shows later servers whether the process that created the folder is still running. */
export async function makeJobFolder(config: Place): Promise<string> {
  const place = placeOf(config)
  await mkdir(place, { recursive: true, mode: 0o700 })
  return mkdtemp(join(place, `${ownName(place)}.`))
}

/** Folder name prefixes of this process, by location. The reference to `release` keeps the lock from being garbage collected and released. */
const ownNames = new Map<string, { name: string; release: () => void }>()

function ownName(place: string): string {
  const known = ownNames.get(place)
  if (known !== undefined) return known.name
  const name = `${machine()}.${randomUUID()}`
  // Rename the locked file, so that the lock is held from the moment its final name appears. The operating system releases it when the process ends.
  const release = lockSqlite(join(place, `${name}.locking`))
  renameSync(join(place, `${name}.locking`), join(place, `${name}.lock`))
  // The lock file is never written to, so its journal is not needed.
  rmSync(join(place, `${name}.locking-journal`), { force: true })
  ownNames.set(place, { name, release })
  return name
}

/** Removes a folder with everything a job may have created: folders without permissions, unusual file names, very many files. */
export async function removeFolder(folder: string): Promise<void> {
  const options = { env: { PATH: systemPath } }
  await execute('chmod', ['-R', 'u+rwX', '--', folder], options).catch(() => undefined)
  await execute('rm', ['-rf', '--', folder], options)
}

/** Removes links and other special files, which could lead readers to files that the job may not read. @throws Error without a folder. */
export async function removeSpecialFiles(folder: string): Promise<void> {
  const found = await lstat(folder).catch(() => null)
  if (!found?.isDirectory()) throw new Error('The job left no folder.')
  await execute('chmod', ['-R', 'u+rwX', '--', folder], { env: { PATH: systemPath } })
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (!entry.isFile() && !entry.isDirectory()) await rm(join(entry.parentPath, entry.name))
}

/** Kills the jobs of servers that ended without cleaning up, and removes their folders and locks. */
export async function sweepJobFolders(config: Place): Promise<void> {
  const place = placeOf(config)
  const names = await readdir(place).catch(() => [])
  // Remove locks last: a folder without a lock counts as abandoned.
  for (const name of names.toSorted((a, b) => Number(isLock(a)) - Number(isLock(b)))) {
    const folder = join(place, name)
    if (await isInUse(place, name)) continue
    if (process.platform === 'linux') killMarked(markOf(folder))
    await removeFolder(folder)
  }
}

const isLock = (name: string) => name.endsWith('.lock')

async function isInUse(place: string, name: string): Promise<boolean> {
  const [, owner = '', prefix = '', rest = ''] = ownedName.exec(name) ?? []
  if (prefix !== '' && isLocked(join(place, `${prefix}.lock`))) return true
  if (owner === machine() && rest !== 'locking') return false
  const found = await stat(join(place, name)).catch(() => null)
  // Another server may have removed the file in the meantime.
  return found === null || Date.now() - found.mtimeMs < otherMachinesMs
}

/** Matches folder and lock names of the form machine.process.suffix. Earlier releases used other names. */
const ownedName = /^(?=([0-9a-f]{8})\.)(\1\.[0-9a-f-]{36})\.(\w+)$/

const machine = () => createHash('sha256').update(hostname()).digest('hex').slice(0, 8)
