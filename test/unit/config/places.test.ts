import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { folderPlace } from '../../../server/operations/backup/place/folder.ts'
import { ConfigError, readConfig } from '../../../server/platform/config/config.ts'
import { makeFolders, explainPathError } from '../../../server/platform/config/paths.ts'
import { openForInspection } from '../../../server/platform/db/open/orm.ts'
import { openLog } from '../../../server/platform/http/log.ts'
import { openServices } from '../../../server/open-services.ts'
import { secretForTests } from '../../support/server-process.ts'
import { root } from '../../support/sources.ts'

/** Creates a folder with an empty file and a file that is not a database. */
function places() {
  const folder = mkdtempSync(join(tmpdir(), 'snug-places-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [file, junk] = [join(folder, 'file'), join(folder, 'junk.sqlite')]
  writeFileSync(file, '')
  writeFileSync(junk, 'This is not a database. '.repeat(1000))
  return { folder, file, junk }
}

/** Runs `work` and returns its result, or the explanation of its error. */
function problemOf(work: () => unknown, path: string): unknown {
  try {
    return work()
  } catch (error) {
    return explainPathError(error, 'BLOB_PATH', path)
  }
}

const configOf = (folder: string, settings: Record<string, string>) =>
  readConfig({ JWT_SECRET: secretForTests, SERVER_URL: 'http://localhost:8080', DATA_DIR: join(folder, 'data'), ...settings })

it('names the setting with the unusable folder or file, and a solution', async () => {
  const { folder, file, junk } = places()
  const cannotBeMade = 'cannot be created: a file already has this name, or the name of a parent folder. Choose another path.'
  const refused: [Record<string, string>, string][] = [
    [{ DATA_DIR: file }, `DATA_DIR: ${file} ${cannotBeMade}`],
    [{ BLOB_PATH: file }, `BLOB_PATH: ${file} ${cannotBeMade}`],
    [{ BLOB_PATH: join(file, 'below') }, `BLOB_PATH: ${join(file, 'below')} ${cannotBeMade}`],
    [{ DOCS_BACKEND: 'filesystem', DOCS_PATH: file }, `DOCS_PATH: ${file} ${cannotBeMade}`],
    [{ SQLITE_PATH: join(file, 'below') }, `SQLITE_PATH: ${join(file, 'below')} ${cannotBeMade}`],
    [{ SQLITE_PATH: folder }, `SQLITE_PATH: ${folder} is a folder. Choose a file in it.`],
    [{ SQLITE_PATH: junk }, `SQLITE_PATH: ${junk} is not an SQLite database, or is damaged. Choose another file, or restore a backup.`],
  ]
  for (const [settings, problem] of refused) {
    const log = openLog('error', () => {})
    await expect(openServices(configOf(folder, settings), log)).rejects.toMatchObject({ problems: [problem] })
  }
  await expect(openForInspection(configOf(folder, { SQLITE_PATH: junk }))).rejects.toThrow(/^SQLITE_PATH: .* is not an SQLite database/)
})

it('names the nearest existing folder that is not writable', () => {
  const { folder } = places()
  const error = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES', path: join(folder, 'blobs/staging') })
  const problem = explainPathError(error, 'BLOB_PATH', join(folder, 'blobs'))
  expect(problem).toBeInstanceOf(ConfigError)
  expect(problem).toMatchObject({
    cause: error,
    problems: [
      `BLOB_PATH: the server's account (uid ${process.geteuid?.()}) has no write permission for ${folder}. Change the owner (chown -R), or choose another path.`,
    ],
  })
})

it.each([
  ['EROFS', 'BLOB_PATH: /data cannot be written to: its file system is mounted read-only. Mount it writable, or choose another path.'],
  ['SQLITE_CORRUPT_VTAB', 'BLOB_PATH: /data is damaged. Restore a backup.'],
])('suggests a solution for %s', (code, problem) => {
  expect(explainPathError(Object.assign(new Error(code), { code }), 'BLOB_PATH', '/data')).toMatchObject({ problems: [problem] })
})

it('creates folders with their parents, and fails on file systems that do not allow it', () => {
  const { folder, file } = places()
  const made = ['one', 'one/two', 'one/two/three'].map((name) => join(folder, name))
  expect(makeFolders(join(folder, 'one/two/three'), 0o700)).toEqual(made)
  expect(made.map((path) => statSync(path).mode % 0o1000)).toEqual([0o700, 0o700, 0o700])
  expect(makeFolders(join(folder, 'one/two'))).toEqual([])
  expect(() => makeFolders(join(file, 'below/further'))).toThrow(/^EEXIST/)
  const path = '/proc/snug/backups'
  const problem = `BLOB_PATH: ${path} cannot be created: the file system at /proc does not allow new folders. Choose another path.`
  expect(problemOf(() => makeFolders(path), path)).toMatchObject({ problems: [problem] })
})

it('rejects a backup folder that cannot be created', async () => {
  await expect(folderPlace('/proc/snug').prepare()).rejects.toThrow(
    'No backup can be made in /proc/snug: /proc/snug cannot be created: the file system at /proc does not allow new folders. Choose another path.',
  )
})

it('does not change other errors', () => {
  for (const error of [
    Object.assign(new Error('no space left'), { code: 'ENOSPC' }),
    new Error('other'),
    new ConfigError(['other']),
    'text',
  ])
    expect(explainPathError(error, 'BLOB_PATH', '/data')).toBe(error)
})

it('names the uid of accounts without a name, as in containers', () => {
  const script = pathToFileURL(join(root, 'server/platform/config/paths.ts')).href
  const code = `const { explainPathError } = await import('${script}')
    if (process.getuid() === 0) process.setuid(4242)
    console.log(explainPathError(Object.assign(new Error('EACCES'), { code: 'EACCES' }), 'BLOB_PATH', '/').message)`
  const said = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' })
  expect(said).toMatch(/^BLOB_PATH: the server's account \(uid [1-9]\d*\) has no write permission for \/\. /)
})
