import { extract as unpacker, type Extract } from 'tar-stream'
import { packageRejected } from '../errors.ts'

/** What a tar says about an entry before its content comes. */
export type TarEntry = { path: string; type: string; size: number }

/** Told of each entry in turn; gives a taker for the chunks of its content, or nothing to skip it. May throw to stop. */
export type Visitor = (entry: TarEntry) => ((chunk: Uint8Array) => void) | undefined

/** Unpacks a tar for a visitor. The visitor's and the source's errors come out as they are; a tar that cannot be read is `PackageRejected`. */
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

/** Settles when the tar has been visited to its end, or could not be. */
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
