import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { BlobStore } from '../blobs/store.ts'

/** Stages some bytes like an upload, reads them back and deletes them. @throws Error on failure. */
export async function writeAndRead(blobs: BlobStore): Promise<void> {
  const name = `probe-${randomUUID()}`
  try {
    await blobs.stage(name, Readable.from([Buffer.from(name)]), name.length)
    const read = Buffer.concat(await (await blobs.openStaged(name)).toArray())
    if (read.toString() !== name) throw new Error('the bytes read differ from the bytes written')
  } finally {
    await blobs.discard(name)
  }
}
