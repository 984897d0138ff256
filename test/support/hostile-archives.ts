import { setTimeout as sleep } from 'node:timers/promises'
import { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import { defaultPubspec } from './archive.ts'
import { tarEnd, tarEntry, type TarHeader } from './tar.ts'

/** The manifest that a hostile archive needs to be taken seriously. */
export const manifest = () => tarEntry({ name: 'pubspec.yaml' }, defaultPubspec('foo', '1.0.0'))

/** A gzip stream of a tar out of these parts, which need not be right, and its end mark. */
export const gzipped = (...parts: Buffer[]) => Readable.from([gzipSync(Buffer.concat([...parts, tarEnd]))])

/** An archive whose manifest is fine and which has one more entry. */
export const withEntry = (header: TarHeader, content?: string | Buffer) => gzipped(manifest(), tarEntry(header, content))

/** A PAX extended header (or global, type `g`) of these records. */
export function pax(records: Record<string, string>, type = 'x'): Buffer {
  return tarEntry(
    { name: 'PaxHeader', type, magic: 'ustar' },
    Object.entries(records)
      .map(([key, value]) => paxRecord(key, value))
      .join(''),
  )
}

/** A gzip stream that goes on without end mark: the first part once, then `part` until `bytes` of it have been unpacked. Costs next to nothing to make. */
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

/** What a refusal said and cost: milliseconds, bytes of memory above the start at the highest, whether the source was closed. */
export type Refusal = { code: unknown; message: string; time: number; memory: number; destroyed: boolean }

/** Runs an inspection that must fail, with an eye on the clock and on the memory of the process. */
export async function measureRefusal(source: Readable, inspect: (source: Readable) => Promise<unknown>): Promise<Refusal> {
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
    return { ...told(error), time, memory: highest - before, destroyed: source.destroyed }
  } finally {
    clearInterval(watch)
  }
  throw new Error('The hostile archive was accepted.')
}

const told = (error: unknown) =>
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
