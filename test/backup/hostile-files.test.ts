import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { verify } from '../../server/operations/admin/diagnostics.ts'
import type { Manifest } from '../../server/operations/backup/manifest.ts'
import { restoreBackup } from '../../server/operations/backup/restore/restore.ts'
import { testApp, type TestApp } from '../app.ts'
import { backUp, emptyPlace, folderOfTest, placesIn } from '../support/backups.ts'
import { publish } from '../support/publish.ts'
import { shaOf } from '../support/stored-blobs.ts'

/** Functions that replace a file or folder of the backup. `whole` is the new path of the original. */
const replacements: Record<string, (path: string, whole: string) => void> = {
  'a link to an endless device': (path) => symlinkSync('/dev/zero', path),
  'a link to the original': (path, whole) => symlinkSync(whole, path),
  'a pipe': (path) => void execFileSync('mkfifo', [path]),
  'a folder': (path) => mkdirSync(path),
  'a longer file': (path, whole) => (copyFileSync(whole, path), truncateSync(path, statSync(whole).size + 1)),
  'a sparse file of a terabyte': (path) => (writeFileSync(path, ''), truncateSync(path, 2 ** 40)),
}

async function createBackup(app: TestApp) {
  const archive = await publish(await app.member(), { name: 'acme', version: '1.0.0' })
  const folder = folderOfTest()
  const { manifest } = await backUp(app, folder)
  const [places, place] = [placesIn(folder), await emptyPlace(app)]
  const [snapshot, blob] = [places.snapshot(manifest.id), places.blob(shaOf(archive))]
  const database = join(snapshot, app.config.DB_BACKEND === 'sqlite' ? 'registry.sqlite' : 'users.copy')
  const paths = { database, list: join(snapshot, 'blobs.tsv'), manifest: places.manifest(manifest.id), blob }
  const write = (changes: object) => writeFileSync(paths.manifest, JSON.stringify({ ...manifest, ...changes }))
  /** Replaces the list of blobs, as anyone with write access to the backup can. */
  const writeList = (text: string, blobs: object = {}) => {
    writeFileSync(paths.list, text)
    const file = { name: 'blobs.tsv', bytes: text.length, sha256: createHash('sha256').update(text).digest('hex') }
    write({ files: manifest.files.map((one) => (one.name === file.name ? file : one)), blobs: { ...manifest.blobs, ...blobs } })
  }
  return { folder, manifest, place, snapshot, paths, write, writeList }
}

/** Matches the messages about a damaged file. A damaged manifest has its own message. */
const damageMessage = (path: string) =>
  new RegExp(`The backup is damaged: ${path} is missing or corrupt|${path} is damaged, or was made by`)

it.each(Object.entries(replacements))('refuses %s in place of a file of the backup', async (_what, replace) => {
  await using app = await testApp()
  const { folder, place, paths } = await createBackup(app)
  const whole = join(folderOfTest(), 'whole')
  for (const path of Object.values(paths)) {
    renameSync(path, whole)
    replace(path, whole)
    await expect(restoreBackup(place, folder), path).rejects.toThrow(damageMessage(path))
    const { ok, text } = await verify(place, folder)
    expect({ ok, text }).toEqual({ ok: false, text: expect.stringMatching(/does not match|is missing or corrupt|is damaged/) })
    rmSync(path, { recursive: true })
    renameSync(whole, path)
  }
  // Nothing of the refused backup remains.
  expect(readdirSync(place.DATA_DIR).filter((name) => name.endsWith('.restoring'))).toEqual([])
})

it('refuses links in place of folders of the backup', async () => {
  await using app = await testApp()
  const { folder, place, snapshot, paths } = await createBackup(app)
  const whole = join(folderOfTest(), 'whole')
  for (const path of [snapshot, join(folder, 'snapshots'), dirname(paths.blob), dirname(dirname(paths.blob)), join(folder, 'blobs')]) {
    const bare = path.replace(/\/$/, '')
    renameSync(bare, whole)
    symlinkSync(whole, bare)
    await expect(restoreBackup(place, folder), path).rejects.toThrow('is missing or corrupt')
    expect(await verify(place, folder)).toMatchObject({ ok: false })
    rmSync(bare)
    renameSync(whole, bare)
  }
  expect(await restoreBackup(place, folder)).toMatchObject({ blobs: 1 })
})

it('restores from a folder that is reached by a link', async () => {
  await using app = await testApp()
  const { folder, place } = await createBackup(app)
  const link = join(folderOfTest(), 'link')
  symlinkSync(folder, link)
  expect(await verify(place, link)).toMatchObject({ ok: true })
  expect(await restoreBackup(place, link)).toMatchObject({ blobs: 1 })
})

it('refuses a manifest that is too large, has duplicate entries or has impossible sizes', async () => {
  await using app = await testApp()
  const { folder, manifest, place, paths, write } = await createBackup(app)
  const [file, ...files] = manifest.files
  const changes: Partial<Record<keyof Manifest, unknown>>[] = [
    { files: [file, file, ...files] },
    { files: [{ ...file, bytes: 1 }, ...manifest.files] },
    { tables: [...manifest.tables, manifest.tables[0]] },
    { files: [{ ...file, bytes: -1 }, ...files] },
    { files: [{ ...file, bytes: 0.5 }, ...files] },
    { files: [{ ...file, bytes: 1e300 }, ...files] },
    { blobs: { ...manifest.blobs, bytes: -1 } },
  ]
  for (const changed of changes) {
    write(changed)
    await expect(restoreBackup(place, folder), JSON.stringify(changed).slice(0, 80)).rejects.toThrow(
      'is damaged, or was made by a newer version',
    )
  }
  write({})
  writeFileSync(paths.manifest, readFileSync(paths.manifest, 'utf8') + ' '.repeat(64 * 1024 ** 2))
  await expect(restoreBackup(place, folder)).rejects.toThrow(`${paths.manifest} is missing or corrupt`)
  expect(await verify(place, folder)).toMatchObject({ ok: false })
})

it('refuses a list of blobs with duplicates or with more blobs than the manifest states', async () => {
  await using app = await testApp()
  const { folder, manifest, place, paths, writeList } = await createBackup(app)
  const line = readFileSync(paths.list, 'utf8')
  const another = line.replace(/^[0-9a-f]{64}/, 'f'.repeat(64))
  for (const [text, blobs, message] of [
    [line + line, { count: 2, bytes: 2 * manifest.blobs.bytes }, 'is invalid or out of order'],
    [another + line, { count: 2, bytes: 2 * manifest.blobs.bytes }, 'is invalid or out of order'],
    [line + another, {}, 'is missing or corrupt'],
    [line, { bytes: manifest.blobs.bytes - 1 }, 'is missing or corrupt'],
    [`../../victim\t1\tarchives\n`, {}, 'has a line that is invalid'],
    ['x'.repeat(2 ** 20), {}, 'has a line that is invalid'],
  ] as const) {
    writeList(text, blobs)
    await expect(restoreBackup(place, folder), text.slice(0, 80)).rejects.toThrow(message)
  }
})

it('refuses a backup that is larger than the free disk space before copying anything', async () => {
  await using app = await testApp()
  const { folder, manifest, place, write } = await createBackup(app)
  const huge = { blobs: { ...manifest.blobs, bytes: 2 ** 52 } }
  write(huge)
  await expect(restoreBackup(place, folder)).rejects.toThrow(
    /^The backup needs \d+ bytes at .*, but only \d+ are free\. Free up space there, or use another location\.$/,
  )
  expect(readdirSync(place.BLOB_PATH, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())).toEqual([])
})

it('prevents SQLite from reading files next to the copy of the database', async () => {
  await using app = await testApp()
  const { folder, place, paths } = await createBackup(app)
  const isSqlite = app.config.DB_BACKEND === 'sqlite'
  for (const end of ['-journal', '-wal']) {
    execFileSync('mkfifo', [`${paths.database}${end}`])
    const { ok, text } = await verify(place, folder)
    expect(ok).toBe(!isSqlite)
    if (isSqlite) expect(text).toContain(`${paths.database}${end}: does not belong to the backup`)
    rmSync(`${paths.database}${end}`)
  }
})
