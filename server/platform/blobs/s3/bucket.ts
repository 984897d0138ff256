import { S3Client } from '@aws-sdk/client-s3'
import { removedName, stagedName, storedAt } from '../store.ts'
import { agentOptions, proxyFor } from '../../outbound/proxy.ts'
import { bucketUrl, type S3Config } from './settings.ts'
import { detectUnresponsiveService } from './silence.ts'

/** A bucket, or the part of it below a prefix. */
export type Bucket = {
  name: string
  keys: ReturnType<typeof keysBelow>
  /** Client with retries for transient failures. */
  client: S3Client
  /** Client without retries, for deletions that must not run late. */
  once: S3Client
  /** Returns whether the service did not respond the last time. */
  isSilent: () => boolean
  /** Client that signs URLs for downloads, for which the service may have another public address. */
  signer: S3Client
  /** Returns how far the local clock is ahead of the service's clock, in milliseconds. */
  aheadMs: () => number
  /** Features found to be missing in the service. */
  lacks: { conditionalWrites: boolean }
  /** Timeout in milliseconds for the response of an attempt, and for gaps between chunks of a body. */
  timeoutMs: number
  /** Returns a timeout for a whole call, including retries and the response body. */
  inTime(): { abortSignal: AbortSignal }
}

/** Connect timeout in milliseconds. */
const connectMs = 3000
const attempts = 3
/** Maximum number of connections. A download occupies a connection until its client has received everything. */
const maxSockets = 1024

/** Returns the clients for a bucket. Does not contact the service. */
export function openBucket(config: S3Config): Bucket {
  const timeoutMs = config.S3_TIMEOUT_MS
  const proxy = proxyFor(config, bucketUrl(config))
  const agent = { keepAlive: true, maxSockets, ...(proxy && agentOptions(proxy)) }
  const settings = {
    region: config.S3_REGION,
    forcePathStyle: config.S3_FORCE_PATH_STYLE,
    // Checksums are sent only where they are requested explicitly, because several services do not support others.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Request bodies are small, so waiting for `100 Continue` would cost a round trip without benefit.
    expectContinueHeader: false,
    followRegionRedirects: false,
    requestHandler: {
      connectionTimeout: Math.min(connectMs, timeoutMs),
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
    ...credentialsOf(config),
  } as const
  const at = (endpoint: string | undefined) => endpoint && { endpoint }
  const client = new S3Client({ ...settings, ...at(config.S3_ENDPOINT), maxAttempts: attempts })
  const once = new S3Client({ ...settings, ...at(config.S3_ENDPOINT), maxAttempts: 1 })
  if (!config.S3_CHECKSUMS) for (const one of [client, once]) omitChecksums(one)
  const isSilent = detectUnresponsiveService({ client, once }, config)
  return {
    name: config.S3_BUCKET ?? '',
    keys: keysBelow(config.S3_PREFIX),
    client,
    once,
    isSilent,
    signer: new S3Client({ ...settings, ...at(config.S3_PUBLIC_ENDPOINT ?? config.S3_ENDPOINT) }),
    aheadMs: watchClock(client),
    lacks: { conditionalWrites: false },
    timeoutMs,
    inTime: () => ({ abortSignal: AbortSignal.timeout(timeoutMs * attempts) }),
  }
}

/** Returns the configured credentials. Without them, the SDK uses the AWS defaults: environment variables, files and instance metadata. */
function credentialsOf({ S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY }: S3Config) {
  if (!S3_ACCESS_KEY_ID || !S3_SECRET_ACCESS_KEY) return {}
  return { credentials: { accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY } }
}

const noChecksums = { ChecksumAlgorithm: undefined, ChecksumSHA256: undefined, ChecksumMode: undefined }

/** Removes checksums from all requests of a client. Some services reject requests that contain them. */
function omitChecksums(client: S3Client): void {
  client.middlewareStack.add((next) => async (args) => next({ ...args, input: { ...args.input, ...noChecksums } }), {
    step: 'initialize',
    name: 'omitChecksums',
    override: true,
  })
}

/** Returns a function that reports how far the local clock is ahead of the service's in the latest response, in milliseconds; 0 before the first. */
function watchClock(client: S3Client): () => number {
  let ahead = 0
  client.middlewareStack.add(
    (next) => async (args) => {
      const answer = await next(args)
      const { headers = {} } = answer.response as { headers?: { date?: string } }
      const date = Date.parse(headers.date ?? '')
      if (!Number.isNaN(date)) ahead = Date.now() - date
      return answer
    },
    { step: 'deserialize', name: 'watchClock', override: true },
  )
  return () => ahead
}

/**
 * Returns the object keys of a store below `prefix`, which is empty or ends in a slash. They equal the relative paths of a file system store, so one
 * can be copied to the other. Only valid staging names and complete hashes are accepted, so no key leads outside the prefix.
 */
function keysBelow(prefix: string) {
  const [staging, stored, removed] = [`${prefix}staging/`, `${prefix}sha256/`, `${prefix}removed/`]
  return {
    root: prefix,
    staging,
    stored,
    removed,
    marker: `${prefix}store-id`,
    staged: (name: string) => `${staging}${stagedName(name)}`,
    blob: (sha256: string) => `${stored}${storedAt(sha256)}`,
    aside: (sha256: string, at: Date) => `${removed}${removedName(sha256, at)}`,
    /** Returns the key prefix of removed bytes with this hash. */
    asides: (sha256: string) => `${removed}${storedAt(sha256).slice(-64)}.`,
  }
}
