import { setTimeout as sleep } from 'node:timers/promises'
import { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import { defaultPubspec } from './archive.ts'
import { tarEnd, tarEntry, type TarHeader } from './tar.ts'

/** Returns a valid pubspec entry, without which archives are rejected early. */
export const manifest = () => tarEntry({ name: 'pubspec.yaml' }, defaultPubspec('foo', '1.0.0'))

/** Returns a gzip stream of a tar with these parts, valid or not, and an end mark. */
export const gzipped = (...parts: Buffer[]) => Readable.from([gzipSync(Buffer.concat([...parts, tarEnd]))])

/** Returns an archive with a valid pubspec and one more entry. */
export const withEntry = (header: TarHeader, content?: string | Buffer) => gzipped(manifest(), tarEntry(header, content))

/** Returns a PAX extended header with these records. With type `g`, the header is global. */
export function pax(records: Record<string, string>, type = 'x'): Buffer {
  return tarEntry(
    { name: 'PaxHeader', type, magic: 'ustar' },
    Object.entries(records)
      .map(([key, value]) => paxRecord(key, value))
      .join(''),
  )
}

/** Returns a gzip stream without an end mark: `first` once, then `part` repeatedly until `bytes` are unpacked. Cheap to create. */
export function bomb(first: Buffer, part: Buffer, bytes: number): Readable {
  const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
  const [start, repeated] = [first, part].map((content) => deflateRawSync(content, { level: 9, finishFlush: constants.Z_FULL_FLUSH }))
  return Readable.from(
    (function* () {
      yield Buffer.concat([header, start ?? header])
      for (let sent = 0; sent < bytes; sent += part.length) yield repeated
    })(),
  )
}

/** Error and cost of a rejection: time in milliseconds, peak memory growth in bytes, and whether the source stream was destroyed. */
export type Refusal = { code: unknown; message: string; time: number; memory: number; destroyed: boolean }

/** Runs an inspection that must fail and measures its time and memory. Throws if the archive is accepted. */
export async function measureRejection(source: Readable, inspect: (source: Readable) => Promise<unknown>): Promise<Refusal> {
  collectGarbage()
  const [start, before] = [performance.now(), process.memoryUsage.rss()]
  let highest = before
  const watch = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), 5)
  try {
    await inspect(source)
  } catch (error) {
    const time = performance.now() - start
    highest = Math.max(highest, process.memoryUsage.rss())
    await sleep(0)
    return { ...describeError(error), time, memory: highest - before, destroyed: source.destroyed }
  } finally {
    clearInterval(watch)
  }
  throw new Error('The hostile archive was accepted.')
}

const describeError = (error: unknown) =>
  error instanceof Error
    ? { code: 'code' in error ? error.code : error.name, message: error.message }
    : { code: null, message: String(error) }

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  const length = Buffer.byteLength(rest)
  const digits = String(length + String(length).length).length
  return `${length + digits}${rest}`
}
