import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { type Config, ConfigError } from '../../platform/config/config.ts'
import { openCaches } from '../../platform/caches/caches.ts'
import { openUnlocked } from '../../platform/db/open/orm.ts'
import { sharedClock } from '../../platform/db/open/servers.ts'
import { forkReads } from '../../platform/db/reads.ts'
import { openLog } from '../../platform/http/log.ts'
import { isExcluded, packageState } from '../../registry/mirror/access.ts'
import { mirrorSize } from '../../registry/mirror/catalog/cached.ts'
import { saveDecisions } from '../../registry/mirror/decisions.ts'
import { readDocument } from '../../registry/mirror/documents.ts'
import { type MirrorServices, storedDocument } from '../../registry/mirror/entries.ts'
import type { MirroredListing } from '../../registry/mirror/listing.ts'

/** What the commands of the mirror need. `upstream` is UPSTREAM_URL. */
export type Mirror = { services: MirrorServices; upstream: string }

/** A package, version or file, and why something was not done with it. */
export type Note = { what: string; reason: string }

/**
 * Opens the mirror while a server may be running and runs `work`. The command and servers share requests to the upstream server through the database,
 * as several servers do.
 * @throws ConfigError without UPSTREAM_URL, Error if the database cannot be used.
 */
export async function withMirror<Result>(config: Config, work: (mirror: Mirror) => Promise<Result>): Promise<Result> {
  const upstream = config.UPSTREAM_URL
  if (upstream === undefined) throw new ConfigError(['UPSTREAM_URL is not set: there is no mirror.'])
  const orm = await openUnlocked(config)
  try {
    const fork = () => orm.em.fork()
    const services: MirrorServices = {
      config,
      caches: openCaches(config),
      database: { fork, reads: forkReads(fork) },
      // Problems are part of the result.
      log: openLog('error', () => {}),
      now: await sharedClock(fork(), config),
      state: {},
      stopping: new AbortController(),
    }
    const result = await work({ services, upstream })
    await saveDecisions(services)
    return result
  } finally {
    await orm.close(true)
  }
}

/** Returns by how many bytes the mirror is larger than UPSTREAM_CACHE_BYTES. The server soon deletes that much. */
export const excessOf = async ({ config, database }: MirrorServices): Promise<number> =>
  Math.max(0, (await mirrorSize(database.fork())).bytes - config.UPSTREAM_CACHE_BYTES)

/** Returns why a name is not in the mirror, or null. */
export async function mirrorExclusionReason(services: MirrorServices, name: string): Promise<string | null> {
  if ((await packageState(services, name)).isOwn) return 'This name belongs to this server and is never taken from the upstream server.'
  return isExcluded(services.config, name) ? 'UPSTREAM_NEVER excludes this name.' : null
}

/** Returns the whole listing of an upstream package, or null. @throws ApiError as `readDocument` */
export async function readListing(services: MirrorServices, name: string) {
  const document = await readDocument(services, 'listing', name)
  return document && { ...document, listing: JSON.parse(await unpacked(document.packed)) as MirroredListing }
}

/** Returns the text of a stored document, or null as `storedDocument`. */
export async function storedText(services: MirrorServices, sha256: string): Promise<string | null> {
  const packed = await storedDocument(services, sha256)
  return packed && unpacked(packed)
}

const unpacked = async (packed: Buffer): Promise<string> => (await promisify<Buffer, Buffer>(gunzip)(packed)).toString('utf8')
