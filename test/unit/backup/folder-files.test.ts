import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { folderPlace } from '../../../server/operations/backup/place/folder.ts'

const id = '20261122T031500000Z'
const name = 'registry.sqlite'

/** Creates a backup folder with one file. */
function open() {
  const folder = mkdtempSync(join(tmpdir(), 'snug-files-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [place, key] = [folderPlace(folder), `snapshots/${id}/${name}`]
  mkdirSync(join(folder, 'snapshots', id), { recursive: true })
  writeFileSync(join(folder, key), 'bytes')
  return { place, key, path: join(folder, key) }
}

it('fails for a file that is deleted after it was found', async () => {
  const { place, key, path } = open()
  const found = await place.find(key)
  await using files = await place.fetchFiles(id, [{ name, bytes: 5, sha256: '' }])
  rmSync(path)
  await expect(found?.read()).rejects.toMatchObject({ code: 'ENOENT' })
  await expect(buffer(files.read(name))).rejects.toThrow(`${path} is missing or corrupt`)
  expect(await files.hash(name)).toBeNull()
})

it('reads only the bytes that a growing file had when it was found', async () => {
  const { place, key, path } = open()
  const found = await place.find(key)
  appendFileSync(path, 'more')
  expect(found?.bytes).toBe(5)
  expect(String(found && (await buffer(await found.read())))).toBe('bytes')
})

it('does not follow a symlink that replaces a file after it was found', async () => {
  const { place, key, path } = open()
  const found = await place.find(key)
  rmSync(path)
  symlinkSync('/dev/zero', path)
  await expect(found?.read()).rejects.toMatchObject({ code: 'ELOOP' })
  expect(await place.find(key)).toMatchObject({ bytes: null })
})

it('does not write through a symlink in a backup folder', async () => {
  const { place, path } = open()
  const elsewhere = mkdtempSync(join(tmpdir(), 'snug-elsewhere-'))
  onTestFinished(() => rmSync(elsewhere, { recursive: true }))
  await place.prepare()
  symlinkSync(elsewhere, join(path, '../../../blobs/ab'))
  const bytes = readFileSync(path)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const put = place.put(`blobs/ab/cd/${'ab'.repeat(32)}`, Readable.from([bytes]), { bytes: bytes.length, sha256 })
  await expect(put).rejects.toThrow('Links are not followed.')
  expect(readdirSync(elsewhere, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())).toEqual([])
})
