import type { Analyzer } from './analysis/analyze.ts'
import type { BlobStore } from './blobs/store.ts'
import type { Config } from './config/config.ts'
import type { Database } from './db/open/orm.ts'
import type { Caches } from './caches/caches.ts'
import type { Keys } from './http/keys.ts'
import type { Limits } from './http/limits/limits.ts'
import type { Log } from './http/log.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { AfterPackageChange } from './packages/changes/after-change.ts'
import type { Tracing } from './tracing/tracing.ts'

/** What lives as long as the server and is handed to every request. */
export type Services = {
  config: Config
  database: Database
  /** What is kept in memory to be found faster; together no more than a setting allows. */
  caches: Caches
  blobs: BlobStore
  /** Where generated documentation is kept: with the archives, or in a store of its own. */
  docs: BlobStore
  /** The built-in engine that scores versions. */
  analyzer: Analyzer
  afterPackageChange: AfterPackageChange
  keys: Keys
  limits: Limits
  log: Log
  /** What the server counts about itself; null unless a setting asks for it. */
  metrics: Metrics | null
  /** Traces of requests and jobs; null unless a setting asks for them. */
  tracing: Tracing | null
  /** Aborted as soon as the server begins to stop. */
  stopping: AbortController
  /** When the server was opened. */
  startedAt: Date
  /** The clock; tests bring their own. */
  now: () => Date
}
