import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { chunksOf, writeHashed } from '../../../server/backup/place/files.ts'
import { folderPlace } from '../../../server/backup/place/folder.ts'

it('tells whoever reads a file that is not there, however late they begin', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'snug-missing-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const chunks = chunksOf(join(folder, 'registry.sqlite'))
  // As when another file is still being opened.
  await wait(50)
  await expect(writeHashed(join(folder, 'copy'), chunks)).rejects.toMatchObject({ code: 'ENOENT' })

  const key = 'blob'
  writeFileSync(join(folder, key), 'bytes')
  const found = await folderPlace(folder).find(key)
  rmSync(join(folder, key))
  await expect(found?.read()).rejects.toMatchObject({ code: 'ENOENT' })
})
