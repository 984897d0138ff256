import type { BlobStore } from './platform/blobs/store.ts'
import type { Config } from './platform/config/config.ts'
import type { Database } from './platform/db/open/orm.ts'
import type { Caches } from './platform/caches/caches.ts'
import type { Keys } from './platform/http/keys.ts'
import type { Limits } from './platform/http/limits.ts'
import type { Log } from './platform/http/log.ts'
import type { Tracing } from './platform/tracing/tracing.ts'

/** In-memory state of one server. Features declare their part with `declare module`, and create it on first use. */
export interface State {}

/** Services that live as long as the server and are passed to every request. Features declare theirs with `declare module`. */
export interface Services {
  config: Config
  database: Database
  /** In-memory caches. Their total size is limited by a setting. */
  caches: Caches
  /** In-memory state other than caches. */
  state: State
  blobs: BlobStore
  /** Store for generated documentation: the archive store, or a separate one. */
  docs: BlobStore
  keys: Keys
  limits: Limits
  log: Log
  /** Tracing of requests and jobs; null unless enabled by a setting. */
  tracing: Tracing | null
  /** Aborted when the server begins to shut down. */
  stopping: AbortController
  /** When the services were opened. */
  startedAt: Date
  /** Clock; tests can replace it. */
  now: () => Date
}
