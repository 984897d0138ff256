import { extract as unpacker, type Extract } from 'tar-stream'
import { packageRejected } from '../../errors.ts'

/** The header of a tar entry. */
export type TarEntry = { path: string; type: string; size: number }

/** Called for each entry. Returns a consumer for the entry's content, or undefined to skip the content. May throw to stop. */
export type Visitor = (entry: TarEntry) => ((chunk: Uint8Array) => void) | undefined

/** Unpacks a tar for a visitor. Errors of the visitor and the source are rethrown unchanged. Throws `PackageRejected` for an invalid tar. */
export async function unpackTar(chunks: AsyncIterable<Buffer>, visit: Visitor): Promise<void> {
  const extract = unpacker()
  const closed = visited(extract, visit)
  try {
    for await (const chunk of chunks) {
      if (!extract.write(chunk)) await Promise.race([drained(extract), closed])
    }
    extract.end(null)
    await closed
  } finally {
    extract.destroy()
  }
}

/** Returns a promise that resolves when all entries have been visited, and rejects on failure. */
function visited(extract: Extract, visit: Visitor): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  promise.catch(() => undefined)
  const attempt = (work: () => void) => {
    try {
      work()
    } catch (error) {
      reject(error)
      extract.destroy()
    }
  }
  extract.on('entry', (header, content, next) =>
    attempt(() => {
      const take = visit({ path: header.name, type: header.type ?? 'unknown', size: header.size ?? 0 })
      if (take) content.on('data', (chunk) => attempt(() => chunk instanceof Uint8Array && take(chunk)))
      content.on('end', () => next())
      content.resume()
    }),
  )
  extract.on('error', () => reject(packageRejected('The archive is not a valid tar. Pack it with `dart pub publish`.')))
  extract.on('close', () => resolve())
  return promise
}

const drained = (extract: Extract) => new Promise<void>((resolve) => extract.once('drain', resolve))
