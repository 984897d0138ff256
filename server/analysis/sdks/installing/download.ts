import { createWriteStream } from 'node:fs'
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import type { Config } from '../../../platform/config/config.ts'
import { requestFile, requestFailureReason, type Download } from '../archive-site.ts'
import { InstallRejected, inMegabytes, requireSdkSpace, unpackedFactor } from '../platform.ts'
import type { ProxySettings } from '../../../platform/outbound/proxy.ts'
import { type Pace, watchPace } from '../../../platform/outbound/request.ts'
import type { Track } from './track.ts'
import { runTask } from '../unpack/run-task.ts'

/** Minimum transfer rate. Slower connections are closed, and a broken connection is only retried if it transferred at least this many bytes. */
const usualPace: Pace = { bytes: 64 * 1024, ms: 60_000 }
/** Maximum archive size in bytes: several times the size of the largest SDK. */
const maxBytes = 8 * 1024 ** 3
/** Number of bytes downloaded between two checks of the free disk space. */
const checkIntervalBytes = 32 * 1024 ** 2

type Settings = Pick<Config, 'DATA_DIR' | 'MIN_FREE_BYTES'> & ProxySettings
/** The parts of an install's track that a download reports to. */
type DownloadTrack = Pick<Track, 'signal' | 'addLine' | 'report'>
type Wanted = Download & { pace: Pace; proxies: ProxySettings }

/**
 * Downloads an archive to `path` and verifies its SHA-256. Resumes partial downloads, as long as each connection transfers at least `pace.bytes`.
 * @throws InstallRejected for a missing archive, another SHA-256, or too little disk space; Error for temporary failures.
 */
export async function download(
  config: Settings,
  { pace = usualPace, ...release }: Download & { pace?: Pace },
  path: string,
  track: DownloadTrack,
): Promise<void> {
  const wanted = { ...release, pace, proxies: config }
  const part = `${path}.part`
  const begun = await sizeOf(part)
  for (let before = begun; ;) {
    try {
      await transfer(config, wanted, part, track)
      break
    } catch (error) {
      track.signal.throwIfAborted()
      const after = await sizeOf(part)
      if (error instanceof InstallRejected || after < before + pace.bytes) throw error
      track.addLine(`The connection broke after ${inMegabytes(after)} (${requestFailureReason(error)}). Resuming from there.`)
      before = after
    }
  }
  await verify(part, wanted, begun > 0, track)
  await rename(part, path)
  await rm(`${part}.json`, { force: true })
}

/** The file that a partial download belongs to. `validator` is sent as If-Range to detect a changed file (RFC 9110 §13.1.5). */
const origin = z.object({ url: z.string(), sha256: z.string(), validator: z.string() })

async function transfer(config: Settings, wanted: Wanted, part: string, track: DownloadTrack): Promise<void> {
  const { body, offset, total } = await open(wanted, part, track.signal)
  requireLength(total ?? 0, maxBytes)
  if (total !== null) await requireSdkSpace(config, total - offset + unpackedFactor * total)
  let done = offset
  let nextCheckAt = done + checkIntervalBytes
  const watch = watchPace(track.signal, wanted.pace)
  const count = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      watch.received(chunk.length)
      done += chunk.length
      requireLength(done, total ?? maxBytes)
      track.report(done, total)
      if (done >= nextCheckAt) await requireSdkSpace(config, 0)
      if (done >= nextCheckAt) nextCheckAt = done + checkIntervalBytes
      yield chunk
    }
  }
  try {
    await pipeline(body, count, createWriteStream(part, { flags: offset > 0 ? 'a' : 'w' }), { signal: watch.signal })
  } catch (error) {
    watch.signal.throwIfAborted()
    throw error
  } finally {
    watch.end()
  }
  if (total !== null && done !== total) throw new Error(`only ${done} of ${total} bytes were received`)
}

async function open(wanted: Wanted, part: string, signal: AbortSignal) {
  const [kept, size] = [await originOf(part), await sizeOf(part)]
  const canResume = kept?.url === wanted.url && kept.sha256 === wanted.sha256 && size > 0
  const headers: Record<string, string> = canResume ? { range: `bytes=${size}-`, 'if-range': kept.validator } : {}
  const body = await begin(wanted, headers, signal)
  try {
    return await describeBody(body, wanted, part, canResume ? size : 0)
  } catch (error) {
    body.destroy()
    throw error
  }
}

/** Validates a response, and stores its validator for a later resume. `size`: bytes on disk. Returns where the body starts in the file. */
async function describeBody(body: IncomingMessage, { url, sha256 }: Wanted, part: string, size: number) {
  const { statusCode: status, headers } = body
  if (status === 404 || status === 410) throw new InstallRejected(`The archive no longer exists: ${url} answered ${status}.`)
  const [, first, all] = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers['content-range'] ?? '') ?? []
  if (size > 0 && (status === 416 || (status === 206 && Number(first) !== size))) {
    await rm(part, { force: true })
    throw new Error('the server cannot resume the partial download')
  }
  if (status !== 200 && status !== 206) throw new Error(`${url} answered ${status}`)
  const isWhole = status === 200
  const validator = headers.etag?.startsWith('"') ? headers.etag : headers['last-modified']
  if (isWhole) await rm(part, { force: true })
  if (isWhole && validator) await writeFile(`${part}.json`, JSON.stringify({ url, sha256, validator }))
  else if (isWhole) await rm(`${part}.json`, { force: true })
  const length = headers['content-length']
  const total = isWhole ? (length === undefined ? null : Number(length)) : Number(all)
  return { body, offset: isWhole ? 0 : size, total }
}

/** Requests an archive. The time limit applies to the response headers only, not to the body. */
async function begin({ url, pace, proxies }: Wanted, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> {
  const watch = watchPace(signal, pace)
  try {
    return await requestFile(url, { proxies, headers, signal: watch.signal })
  } catch (error) {
    throw new Error(`${url} cannot be read: ${requestFailureReason(error)}.`, { cause: error })
  } finally {
    watch.end()
  }
}

/** Verifies the SHA-256. A mismatch is final, except after a resume, where the partial file may have been damaged. */
async function verify(part: string, { url, sha256 }: Download, wasResumed: boolean, track: DownloadTrack): Promise<void> {
  track.addLine('Comparing the SHA-256 …')
  const actual = await runTask({ do: 'hash', archive: part }, z.string(), { signal: track.signal })
  if (actual === sha256) return
  await rm(part, { force: true })
  // The message omits the actual hash: it would let an administrator identify content that only the server can read.
  const message = `The SHA-256 of ${url} does not match ${sha256}, the value published by the archive.`
  throw wasResumed ? new Error(message) : new InstallRejected(`${message} The download was deleted.`)
}

function requireLength(bytes: number, most: number): void {
  if (bytes > most) throw new InstallRejected(`The archive is larger than the expected ${most} bytes. The download was deleted.`)
}

async function originOf(part: string): Promise<z.infer<typeof origin> | null> {
  try {
    return origin.parse(JSON.parse(await readFile(`${part}.json`, 'utf8')))
  } catch {
    return null
  }
}

const sizeOf = async (path: string): Promise<number> => (await stat(path).catch(() => null))?.size ?? 0
