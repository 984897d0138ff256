import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Config } from '../config/config.ts'
import { systemPath } from './means.ts'
import { endMarked, markOf } from './processes.ts'

const execute = promisify(execFile)

type Place = Pick<Config, 'DATA_DIR'>
const placeOf = ({ DATA_DIR }: Place) => join(DATA_DIR, 'jobs')

/** Other machines may share the disk: of them nothing is known but the age of what they left. */
const otherMachinesMs = 86_400_000

/** An empty folder for one job, named so that a later start knows whether its server still runs. */
export async function makeJobFolder(config: Place): Promise<string> {
  const place = placeOf(config)
  await mkdir(place, { recursive: true, mode: 0o700 })
  return mkdtemp(join(place, `${machine()}.${process.pid}.${await (ownStart ??= startOf(process.pid))}.`))
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

/** Ends and removes the jobs of servers that ended without doing so. */
export async function sweepJobFolders(config: Place): Promise<void> {
  const place = placeOf(config)
  for (const name of await readdir(place).catch(() => [])) {
    const folder = join(place, name)
    if (await isInUse(name, folder)) continue
    if (process.platform === 'linux') endMarked(markOf(folder))
    await removeFolder(folder)
  }
}

async function isInUse(name: string, folder: string): Promise<boolean> {
  const [owner, id, start] = name.split('.')
  if (owner === machine()) return (await startOf(Number(id))) === start
  const found = await stat(folder).catch(() => null)
  // Another server may have removed it meanwhile.
  return found === null || Date.now() - found.mtimeMs < otherMachinesMs
}

/** When this process was started. */
let ownStart: Promise<string> | undefined

const machine = () => createHash('sha256').update(hostname()).digest('hex').slice(0, 8)

/** When a process was started, in ticks of the machine: what tells it from another one with the same id; empty when there is none. */
async function startOf(id: number): Promise<string> {
  const text = await readFile(`/proc/${id}/stat`, 'latin1').catch(() => '')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}
