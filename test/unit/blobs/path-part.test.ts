import { describe, expect, it } from 'vitest'
import { blobKey, fileKey, manifestKey, snapshotKey, tableFile } from '../../../server/operations/backup/place/place.ts'
import { removedName, stagedName, storedAt } from '../../../server/platform/blobs/store.ts'
import { attemptFolder } from '../../../server/analysis/sdks/platform.ts'

const hash = 'ab'.repeat(32)
const id = '20261122T031500000Z'
const uuid = '01890a5d-ac96-774b-bcce-b302099a8057'

/** Returns values that a manipulated database or manifest may contain instead of `value`. */
const hostile = (value: string) => [
  '',
  '.',
  '..',
  '../../victim',
  '/etc',
  `../${value}`,
  `${value}/..`,
  `${value}\n`,
  `${value}\0`,
  `${value}/x`,
]

describe('path functions', () => {
  it.each<[string, string, (value: string) => string]>([
    ['the hash of stored bytes', hash, storedAt],
    ['the hash of removed bytes', hash, (value) => removedName(value, new Date(0))],
    ['the name of staged bytes', uuid, stagedName],
    ['the id of an SDK install', uuid, (value) => attemptFolder({ DATA_DIR: '/data' }, { id: value, generation: 1 })],
    [
      'the generation of an SDK install',
      '1',
      (value) => attemptFolder({ DATA_DIR: '/data' }, { id: uuid, generation: value as unknown as number }),
    ],
    ['the id of a backup', id, snapshotKey],
    ['the id of a manifest', id, manifestKey],
    ['the name of a file in a backup', 'registry.sqlite', (value) => fileKey(id, value)],
    ['the name of a table', 'users', tableFile],
    ['the hash of a blob in a backup', hash, blobKey],
  ])('rejects path traversal in %s', (_what, value, toPath) => {
    expect(toPath(value)).toContain(value)
    for (const text of hostile(value)) expect(() => toPath(text), JSON.stringify(text)).toThrow('Not a valid file name')
  })
})
