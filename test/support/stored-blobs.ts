import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestApp } from '../app.ts'

type Stored = { config: Pick<TestApp['config'], 'BLOB_PATH'> }

/** Returns the SHA-256 in hex. */
export const shaOf = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

/** Returns the path of a blob in the store of a server. */
export const pathOf = ({ config }: Stored, sha256: string): string =>
  join(config.BLOB_PATH, 'sha256', sha256.slice(0, 2), sha256.slice(2, 4), sha256)

/** Returns the path of a store's marker file. */
export const markerOf = ({ config }: Stored): string => join(config.BLOB_PATH, 'store-id')

/** Adds orphaned blobs to a store that are old enough to be collected. Returns their hashes. */
export function plantOrphans(app: Stored, count: number): string[] {
  return Array.from({ length: count }, () => {
    const bytes = randomBytes(10)
    const path = pathOf(app, shaOf(bytes))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes)
    utimesSync(path, 0, 0)
    return shaOf(bytes)
  })
}
