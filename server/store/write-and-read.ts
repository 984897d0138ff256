import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { BlobStore } from '../blobs/store.ts'

/** Stages some bytes as an upload does, reads them and removes them. @throws Error when that fails. */
export async function writeAndRead(blobs: BlobStore): Promise<void> {
  const name = `probe-${randomUUID()}`
  try {
    await blobs.stage(name, Readable.from([Buffer.from(name)]), name.length)
    const read = Buffer.concat(await (await blobs.openStaged(name)).toArray())
    if (read.toString() !== name) throw new Error('what was written is not what was read')
  } finally {
    await blobs.discard(name)
  }
}
