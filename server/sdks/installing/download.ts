import { createWriteStream } from 'node:fs'
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { reasonOf } from '../archive-site.ts'
import { InstallRefused } from './refused.ts'
import type { Download } from '../release.ts'
import { inMegabytes, requireRoom, unpackedFactor } from './room.ts'
import type { Track } from './track.ts'
import { ask } from '../unpack/ask.ts'

/** A connection over which nothing came for so long is given up. */
const silenceMs = 60_000
/** How often the room on the disk is looked at. */
const lookEvery = 32 * 1024 ** 2

type Settings = Pick<Config, 'DATA_DIR' | 'MIN_FREE_BYTES'>

/**
 * Downloads an archive to `path`, and compares its SHA-256. What an interrupted download left is used when it is of the same file; a connection
 * that breaks is taken up again as long as each brings something.
 * @throws InstallRefused when the archive is not there, has another SHA-256, or does not fit on the disk; Error for what may pass.
 */
export async function download(config: Settings, wanted: Download, path: string, track: Track): Promise<void> {
  const part = `${path}.part`
  const begun = await sizeOf(part)
  for (let before = begun; ;) {
    try {
      await transfer(config, wanted, part, track)
      break
    } catch (error) {
      track.signal.throwIfAborted()
      const after = await sizeOf(part)
      if (error instanceof InstallRefused || after <= before) throw error
      track.say(`The connection broke after ${inMegabytes(after)} (${reasonOf(error)}). Going on from there.`)
      before = after
    }
  }
  await verify(part, wanted, begun > 0, track)
  await rename(part, path)
  await rm(`${part}.json`, { force: true })
}

/** What a partial download is of; `validator` says whether the file is still the same (RFC 9110 §13.1.5). */
const origin = z.object({ url: z.string(), sha256: z.string(), validator: z.string() })

async function transfer(config: Settings, wanted: Download, part: string, track: Track): Promise<void> {
  const { body, offset, total } = await open(wanted, part, track.signal)
  if (total !== null) await requireRoom(config, total - offset + unpackedFactor * total)
  let done = offset
  let lookAt = done + lookEvery
  const watch = silenceWatch(track.signal)
  const count = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      watch.hear()
      done += chunk.length
      track.report(done, total)
      if (done >= lookAt) await requireRoom(config, 0)
      if (done >= lookAt) lookAt = done + lookEvery
      yield chunk
    }
  }
  try {
    await pipeline(Readable.fromWeb(body), count, createWriteStream(part, { flags: offset > 0 ? 'a' : 'w' }), { signal: watch.signal })
  } finally {
    watch.end()
  }
  if (total !== null && done !== total) throw new Error(`${done} of ${total} bytes came`)
}

async function open(wanted: Download, part: string, signal: AbortSignal) {
  const [kept, size] = [await originOf(part), await sizeOf(part)]
  const goesOn = kept?.url === wanted.url && kept.sha256 === wanted.sha256 && size > 0
  const started = AbortSignal.any([signal, AbortSignal.timeout(silenceMs)])
  const asked = new Headers({ 'accept-encoding': 'identity' })
  if (goesOn) asked.set('range', `bytes=${size}-`)
  if (goesOn) asked.set('if-range', kept.validator)
  const response = await fetch(wanted.url, { headers: asked, signal: started })
  if (response.status === 404 || response.status === 410)
    throw new InstallRefused(`The archive is not there any more: ${wanted.url} answered ${response.status}.`)
  const [, first, all] = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get('content-range') ?? '') ?? []
  if (goesOn && (response.status === 416 || (response.status === 206 && Number(first) !== size))) {
    await rm(part, { force: true })
    throw new Error('what was downloaded so far does not fit')
  }
  if (!response.body || (response.status !== 200 && response.status !== 206)) throw new Error(`${wanted.url} answered ${response.status}`)
  const { headers } = response
  const isWhole = response.status === 200
  const validator = headers.get('etag')?.startsWith('"') ? headers.get('etag') : headers.get('last-modified')
  if (isWhole) await rm(part, { force: true })
  if (isWhole && validator) await writeFile(`${part}.json`, JSON.stringify({ url: wanted.url, sha256: wanted.sha256, validator }))
  else if (isWhole) await rm(`${part}.json`, { force: true })
  const length = headers.get('content-length')
  const total = isWhole ? (length === null ? null : Number(length)) : Number(all)
  return { body: response.body as ReadableStream<Uint8Array>, offset: isWhole ? 0 : size, total }
}

/** What was taken up again may have been damaged meanwhile, so it gets another chance; a fresh download does not. */
async function verify(part: string, { url, sha256 }: Download, wasResumed: boolean, track: Track): Promise<void> {
  track.say('Comparing the SHA-256 …')
  const actual = await ask({ do: 'hash', archive: part }, z.string(), { signal: track.signal })
  if (actual === sha256) return
  await rm(part, { force: true })
  const message = `The SHA-256 of ${url} is ${actual}, but the archive says ${sha256}.`
  throw wasResumed ? new Error(message) : new InstallRefused(`${message} Nothing of it was kept.`)
}

/** Aborts when nothing was heard for a while. */
function silenceWatch(outer: AbortSignal) {
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(new Error('nothing came any more')), silenceMs).unref()
  return { signal: AbortSignal.any([outer, silence.signal]), hear: () => void timer.refresh(), end: () => clearTimeout(timer) }
}

async function originOf(part: string): Promise<z.infer<typeof origin> | null> {
  try {
    return origin.parse(JSON.parse(await readFile(`${part}.json`, 'utf8')))
  } catch {
    return null
  }
}

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )
