import { randomUUID } from 'node:crypto'
import { readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { invalidInput } from '../../errors.ts'
import type { Config } from '../../platform/config/config.ts'
import { exportMirror } from '../mirror/export.ts'
import { importMirror } from '../mirror/import.ts'
import { type LockText, rewriteLockFile } from '../mirror/lock-files.ts'
import { preload } from '../mirror/preload.ts'
import { type Note, withMirror } from '../mirror/services.ts'
import { counted, type Outcome } from './command.ts'
import { requireFile } from './content.ts'
import { showProgress } from './progress-line.ts'

/** Fetches what lock files name into the mirror. `ok` is false if anything is missing, or will be because the mirror is too large. */
export async function fetchLocked(config: Config, paths: readonly string[]): Promise<Outcome> {
  const files = await Promise.all(paths.map(readLockText))
  const progress = showProgress()
  const result = await withMirror(config, (mirror) =>
    preload(mirror, files, (done, total) => progress.update('Fetching', { done, total, unit: 'packages' })),
  ).finally(() => progress.end())
  const { packages, versions, fetched, bytes, excess, skipped, missing } = result
  const counts = `The mirror has ${counted(versions, 'versions')} of ${counted(packages, 'packages')}. Fetched now: ${counted(fetched, 'archives')} (${counted(bytes, 'bytes')}).`
  const text = [
    ...notes('skipped', skipped),
    ...notes('missing', missing),
    `${counts} Skipped: ${skipped.length}. Missing: ${missing.length}.`,
    ...excessive(excess),
  ]
  return { text: text.join('\n'), data: result, ok: missing.length === 0 && excess === 0 }
}

/** Writes the files of the mirror to a folder. `ok` is false if files of the mirror are missing or damaged. */
export async function exportCache(config: Config, folder: string): Promise<Outcome> {
  const progress = showProgress()
  const result = await withMirror(config, (mirror) =>
    exportMirror(mirror, folder, (done, total) => progress.update('Exporting', { done, total, unit: 'files' })),
  ).finally(() => progress.end())
  const { files, bytes, copied, removed, lacking } = result
  const summary = `Exported ${counted(files, 'files')} (${counted(bytes, 'bytes')}) to ${folder}. Copied now: ${copied}. Deleted from an earlier export: ${removed}.`
  const left = lacking.length > 0 ? ` Left out: ${lacking.length}. The mirror fetches them again when clients need them.` : ''
  return { text: [...notes('left out', lacking), summary + left].join('\n'), data: result, ok: lacking.length === 0 }
}

/** Imports the files of an export into the mirror. `ok` is false if any were rejected. */
export async function importCache(config: Config, folder: string): Promise<Outcome> {
  const progress = showProgress()
  // The number of files is unknown until the index was read.
  const report = (done: number) => progress.update('Importing', { done, total: done + 1, unit: 'files' })
  const result = await withMirror(config, (mirror) => importMirror(mirror, folder, report)).finally(() => progress.end())
  const { imported, bytes, present, excess, skipped, refused } = result
  const summary = `Imported ${counted(imported, 'files')} (${counted(bytes, 'bytes')}). Already in the mirror, or newer there: ${present}. Skipped: ${skipped.length}. Refused: ${refused.length}.`
  return {
    text: [...notes('skipped', skipped), ...notes('refused', refused), summary, ...excessive(excess)].join('\n'),
    data: result,
    ok: refused.length === 0 && excess === 0,
  }
}

/** Changes URLs in lock files. `ok` is false if a package could not be changed, or if `isCheck` and a file would be changed. */
export async function rewriteLockFiles(
  config: Config,
  paths: readonly string[],
  { toUpstream, isCheck }: { toUpstream: boolean; isCheck: boolean },
): Promise<Outcome> {
  const files = await Promise.all(paths.map(readLockText))
  const results = await withMirror(config, async (mirror) => {
    const done = []
    for (const file of files) done.push(await rewriteLockFile(mirror, file, toUpstream ? 'upstream' : 'mirror'))
    return done
  })
  const lines: string[] = []
  for (const [index, { path, text, changed, kept, current, others }] of results.entries()) {
    if (!isCheck && text !== files[index]?.text) await replaceFile(path, text)
    lines.push(...kept.map(({ what, reason }) => `${path}: ${what} was not changed. ${reason}`))
    const verb = isCheck ? 'would be changed' : 'changed'
    const already = `${current} already ${toUpstream ? 'upstream' : 'mirrored'}`
    lines.push(`${path}: ${counted(changed.length, 'packages')} ${verb}, ${kept.length} not, ${already}, ${others} from elsewhere.`)
  }
  const ok = results.every(({ changed, kept }) => kept.length === 0 && (!isCheck || changed.length === 0))
  const data = { files: results.map(({ text: _text, ...result }) => result), isCheck }
  return { text: lines.join('\n'), data, ok }
}

const notes = (kind: string, list: readonly Note[]): string[] => list.map(({ what, reason }) => `${kind}: ${what}: ${reason}`)

const excessive = (bytes: number): string[] =>
  bytes === 0
    ? []
    : [
        `The mirror is ${counted(bytes, 'bytes')} larger than UPSTREAM_CACHE_BYTES. Increase it now: the server deletes that much within ten minutes.`,
      ]

/** Larger than any lock file. */
const maxBytes = 8 * 1024 ** 2

/** Reads a lock file. @throws Error if it cannot be read, ApiError InvalidInput if it is not text. */
async function readLockText(path: string): Promise<LockText> {
  await requireFile(path)
  if ((await stat(path)).size > maxBytes) throw invalidInput(`${path} is too large for a pubspec.lock.`)
  try {
    // The byte order mark is kept, because the file is written again.
    return { path, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(path)) }
  } catch (error) {
    throw invalidInput(`${path} is not text in UTF-8: ${String(error)}`)
  }
}

/** Replaces the content of a file in one step, also behind a symbolic link. Keeps its permissions. */
async function replaceFile(path: string, text: string): Promise<void> {
  const target = await realpath(path)
  const { mode } = await stat(target)
  const part = `${target}.${randomUUID()}.part`
  await writeFile(part, text, { mode, flush: true })
  await rename(part, target)
}
