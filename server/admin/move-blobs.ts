import { ConfigError } from '../config/config.ts'
import { sharedClock } from '../db/postgres/shared-clock.ts'
import { conflict, invalidInput } from '../errors.ts'
import { areRemovalsHeld } from '../store/hold.ts'
import { type MoveProgress, moveBlobs } from '../store/move.ts'
import { nameOfStore, openBlobs } from '../store/open.ts'
import type { Operation } from './command.ts'

/**
 * Copies all archives to the other kind of store: `s3` or `filesystem`. Servers may be running.
 * @returns what to tell the operator.
 * @throws ConfigError without a bucket; ApiError InvalidInput; Conflict while a backup runs, when a store belongs to another database, or, with everything else copied, when
 *   archives were missing or damaged at the source.
 */
export async function move({ em, config }: Operation, kind = '', say = sayNow): Promise<string> {
  if (kind !== 's3' && kind !== 'filesystem') throw invalidInput(`Unknown store ${kind}: write s3 or filesystem.`)
  if (!config.S3_BUCKET)
    throw new ConfigError(['S3_BUCKET is not set: set it, and the other variables of the bucket, beside those of the server.'])
  // A backup goes on with the store that it began with, and the server is to be stopped when everything is copied.
  if (await areRemovalsHeld(em, (await sharedClock(em, config))()))
    throw conflict('A backup of this server is running. Wait until it is complete, then run this again. Nothing was copied.')
  const places = {
    from: { ...config, BLOB_BACKEND: kind === 's3' ? 'filesystem' : 's3' } as const,
    to: { ...config, BLOB_BACKEND: kind } as const,
  }
  const stores = { from: await openBlobs(places.from), to: await openBlobs(places.to) }
  const result = await moveBlobs({ em, ...stores, withDocs: config.DOCS_BACKEND === 'blob' }, everySecond(say))
  const { done, copied, bytes, faults } = result
  const summary = [
    ...faults.map(({ sha256, kind: fault }) => `${fault} in ${nameOfStore(places.from)}: ${sha256}`),
    `${nameOfStore(places.to)} has ${done - faults.length} of ${done} archives, verified: ${copied} were copied now (${bytes} bytes).`,
    next(config.BLOB_BACKEND, kind),
  ].join('\n')
  if (faults.length > 0) throw conflict(summary)
  return summary
}

/** What is left to do. */
const next = (used: string, kind: string) =>
  used === kind
    ? `The server uses it already. Nothing else is to be done; ${used === 's3' ? 'the folder' : 'the bucket'} was left as it was.`
    : `Now stop the server, run this once more for what was published meanwhile, and start the server with BLOB_BACKEND=${kind}.`

function everySecond(say: (line: string) => void): (progress: MoveProgress) => void {
  let saidAt = Number.NEGATIVE_INFINITY
  return ({ done, total, copied }) => {
    if (performance.now() - saidAt < 1000) return
    saidAt = performance.now()
    say(`${done} of ${total} archives (${Math.floor((done / Math.max(total, 1)) * 100)} %), ${copied} copied`)
  }
}

const sayNow = (line: string) => void process.stderr.write(`${line}\n`)
