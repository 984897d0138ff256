import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { renameSync, rmSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Config } from '../config/config.ts'
import { isLocked, lockSqlite } from '../db/location/lock.ts'
import { systemPath } from './means.ts'
import { endMarked, markOf } from './processes.ts'

const execute = promisify(execFile)

type Place = Pick<Config, 'DATA_DIR'>
const placeOf = ({ DATA_DIR }: Place) => join(DATA_DIR, 'jobs')

/** Other machines may share the disk: of them nothing is known but the age of what they left. */
const otherMachinesMs = 86_400_000

/** Makes an empty folder for one job. A later start sees from the lock of this process whether the folder is still in use. */
export async function makeJobFolder(config: Place): Promise<string> {
  const place = placeOf(config)
  await mkdir(place, { recursive: true, mode: 0o700 })
  return mkdtemp(join(place, `${ownName(place)}.`))
}

/** How this process names its folders, by their place. The lock is released when nothing refers to `release` any more. */
const ownNames = new Map<string, { name: string; release: () => void }>()

function ownName(place: string): string {
  const known = ownNames.get(place)
  if (known !== undefined) return known.name
  const name = `${machine()}.${randomUUID()}`
  // Under its final name, the lock is held from the beginning; the system releases it when the process ends, however that happens.
  const release = lockSqlite(join(place, `${name}.locking`))
  renameSync(join(place, `${name}.locking`), join(place, `${name}.lock`))
  // Nothing is ever written to it.
  rmSync(join(place, `${name}.locking-journal`), { force: true })
  ownNames.set(place, { name, release })
  return name
}

/** Removes a folder with whatever a job made of it: folders without rights, names that are hard to name, very many files. */
export async function removeFolder(folder: string): Promise<void> {
  const options = { env: { PATH: systemPath } }
  await execute('chmod', ['-R', 'u+rwX', '--', folder], options).catch(() => undefined)
  await execute('rm', ['-rf', '--', folder], options)
}

/**
 * Leaves only plain files and folders in a folder that a job wrote to: links would lead whoever reads it to what the job may not read.
 * @throws Error when it is no folder itself
 */
export async function keepPlainFiles(folder: string): Promise<void> {
  const isFolder = await lstat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) throw new Error('The job left no folder.')
  await execute('chmod', ['-R', 'u+rwX', '--', folder], { env: { PATH: systemPath } })
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (!entry.isFile() && !entry.isDirectory()) await rm(join(entry.parentPath, entry.name))
}

/** Ends and removes the jobs of servers that ended without doing so, and their locks. */
export async function sweepJobFolders(config: Place): Promise<void> {
  const place = placeOf(config)
  const names = await readdir(place).catch(() => [])
  // Locks go last: a folder whose lock is missing would be taken for one of a server that ended.
  for (const name of names.toSorted((a, b) => Number(isLock(a)) - Number(isLock(b)))) {
    const folder = join(place, name)
    if (await isInUse(place, name)) continue
    if (process.platform === 'linux') endMarked(markOf(folder))
    await removeFolder(folder)
  }
}

const isLock = (name: string) => name.endsWith('.lock')

async function isInUse(place: string, name: string): Promise<boolean> {
  const [, owner = '', prefix = '', rest = ''] = ownedName.exec(name) ?? []
  if (prefix !== '' && isLocked(join(place, `${prefix}.lock`))) return true
  if (owner === machine() && rest !== 'locking') return false
  const found = await stat(join(place, name)).catch(() => null)
  // Another server may have removed it in the meantime.
  return found === null || Date.now() - found.mtimeMs < otherMachinesMs
}

/** The machine, the whole name of the process, and what it named. Other servers of earlier releases named theirs otherwise. */
const ownedName = /^(?=([0-9a-f]{8})\.)(\1\.[0-9a-f-]{36})\.(\w+)$/

const machine = () => createHash('sha256').update(hostname()).digest('hex').slice(0, 8)
