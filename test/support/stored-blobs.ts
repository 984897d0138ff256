import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestApp } from '../app.ts'

type Stored = { config: Pick<TestApp['config'], 'BLOB_PATH'> }

/** The SHA-256 of bytes, in hex. */
export const shaOf = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

/** Where the store of a server keeps the bytes with this hash. */
export const pathOf = ({ config }: Stored, sha256: string): string =>
  join(config.BLOB_PATH, 'sha256', sha256.slice(0, 2), sha256.slice(2, 4), sha256)

/** The marker file of a store. */
export const markerOf = ({ config }: Stored): string => join(config.BLOB_PATH, 'store-id')

/** Puts bytes into a store that no version names and that are old enough to be collected; gives their hashes. */
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
