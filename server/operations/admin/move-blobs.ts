import { ConfigError } from '../../platform/config/config.ts'
import { sharedClock } from '../../platform/db/open/servers.ts'
import { conflict, invalidInput } from '../../errors.ts'
import { areRemovalsHeld } from '../../platform/store/hold.ts'
import { type MoveProgress, moveBlobs } from '../../platform/store/move.ts'
import { nameOfStore, openBlobs } from '../../platform/store/open.ts'
import type { Operation } from './command.ts'

/**
 * Copies all archives to the other kind of store, `s3` or `filesystem`. Servers may be running.
 * @returns the message for the operator.
 * @throws ConfigError without a bucket; ApiError InvalidInput; Conflict while a backup runs, when a store belongs to another database, or when
 * archives are missing or damaged at the source (all others are copied anyway).
 */
export async function move({ em, config }: Operation, kind = '', say = sayNow): Promise<string> {
  if (kind !== 's3' && kind !== 'filesystem') throw invalidInput(`Unknown store ${kind}: write s3 or filesystem.`)
  if (!config.S3_BUCKET)
    throw new ConfigError(['S3_BUCKET is not set. Set it and the other S3 settings in addition to those of the server.'])
  // A running backup keeps reading from the old store, but the server must be stopped once everything is copied.
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

/** Returns a sentence about the next step after all archives were copied. */
const next = (used: string, kind: string) =>
  used === kind
    ? `The server already uses this store. Nothing else to do; ${used === 's3' ? 'the folder' : 'the bucket'} was not changed.`
    : `Now stop the server, run this command again to copy what was published in the meantime, and start the server with BLOB_BACKEND=${kind}.`

function everySecond(say: (line: string) => void): (progress: MoveProgress) => void {
  let saidAt = Number.NEGATIVE_INFINITY
  return ({ done, total, copied }) => {
    if (performance.now() - saidAt < 1000) return
    saidAt = performance.now()
    say(`${done} of ${total} archives (${Math.floor((done / Math.max(total, 1)) * 100)} %), ${copied} copied`)
  }
}

const sayNow = (line: string) => void process.stderr.write(`${line}\n`)
