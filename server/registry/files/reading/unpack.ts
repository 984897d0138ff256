import { createHash } from 'node:crypto'
import { closeSync, createReadStream, openSync, writeSync } from 'node:fs'
import { eachFile, type FileVisitor } from '../../archive/read.ts'
import { headBytes, imageTypeOf, isText } from '../content.ts'

/** The compressed archive, and the file to write. */
export type Task = { archive: string; to: string }

/** A file of an archive and its place in the unpacked copy. */
export type Place = { path: string; bytes: number; kind: 'text' | 'image' | 'binary'; mediaType: string; sha256: string; offset: number }

/** Writes the contents of all files of an archive to one file, one after the other. Returns their places. */
export async function unpackArchive({ archive, to }: Task): Promise<Place[]> {
  const places: Place[] = []
  const target = openSync(to, 'wx', 0o600)
  try {
    let end = 0
    await eachFile(createReadStream(archive), {}, ({ path, size }) => {
      const offset = end
      end += size
      return recordFile(path, size, (place) => places.push({ ...place, offset }), target)
    })
    return places
  } finally {
    closeSync(target)
  }
}

type Recorded = Omit<Place, 'offset'>

/** Writes and hashes the chunks of a file, and reports it after the last byte. */
function recordFile(path: string, bytes: number, record: (place: Recorded) => void, target: number): ReturnType<FileVisitor> {
  const hash = createHash('sha256')
  const head: Buffer[] = []
  let [left, kept] = [bytes, 0]
  const finish = () => record({ path, bytes, ...typeOf(Buffer.concat(head)), sha256: hash.digest('hex') })
  if (bytes === 0) {
    finish()
    return undefined
  }
  return (chunk) => {
    for (let written = 0; written < chunk.length;) written += writeSync(target, chunk, written)
    hash.update(chunk)
    if (kept < headBytes) {
      const start = Buffer.from(chunk.subarray(0, headBytes - kept))
      head.push(start)
      kept += start.length
    }
    left -= chunk.length
    if (left === 0) finish()
  }
}

function typeOf(head: Buffer): Pick<Place, 'kind' | 'mediaType'> {
  const image = imageTypeOf(head)
  if (image) return { kind: 'image', mediaType: image }
  return isText(head) ? { kind: 'text', mediaType: 'text/plain' } : { kind: 'binary', mediaType: 'application/octet-stream' }
}
