import { S3Client } from '@aws-sdk/client-s3'
import { leaveChecksumsOut } from './checksums.ts'
import { watchClock } from './clock.ts'
import { type BucketKeys, keysBelow } from './keys.ts'
import type { S3Config } from './settings.ts'
import { noticeSilence } from './silence.ts'

/** A bucket, or the part of one below a prefix. */
export type Bucket = {
  name: string
  keys: BucketKeys
  /** Repeats what failed for a reason that passes. */
  client: S3Client
  /** Repeats nothing: what is late must not happen after something else has. */
  once: S3Client
  /** Signs links for clients, who may know the service by another address. */
  signer: S3Client
  /** How far this machine's clock is ahead of the service's. */
  aheadMs: () => number
  /** What the service was found to lack. */
  lacks: { conditionalWrites: boolean }
  /** How long an attempt may take until it is answered, and a body may be silent. */
  timeoutMs: number
  /** Ends a call, with all its attempts and its whole answer, that takes too long. */
  inTime(): { abortSignal: AbortSignal }
}

/** How long connecting may take. */
const connectMs = 3000
const attempts = 3
/** A download keeps a connection for as long as its client takes. */
const maxSockets = 1024

/** Opens a bucket; nothing is asked of it yet. */
export function openBucket(config: S3Config): Bucket {
  const timeoutMs = config.S3_TIMEOUT_MS
  const settings = {
    region: config.S3_REGION,
    forcePathStyle: config.S3_FORCE_PATH_STYLE,
    // Checksums are sent where this store asks for them: several services know no others.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Bodies are small enough to be sent at once; waiting would cost a connection each time.
    expectContinueHeader: false,
    followRegionRedirects: false,
    requestHandler: {
      connectionTimeout: Math.min(connectMs, timeoutMs),
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      httpAgent: { keepAlive: true, maxSockets },
      httpsAgent: { keepAlive: true, maxSockets },
    },
    ...credentialsOf(config),
  } as const
  const endpoint = config.S3_ENDPOINT
  const seen = config.S3_PUBLIC_ENDPOINT ?? endpoint
  const client = new S3Client({ ...settings, ...(endpoint && { endpoint }), maxAttempts: attempts })
  const once = new S3Client({ ...settings, ...(endpoint && { endpoint }), maxAttempts: 1 })
  if (!config.S3_CHECKSUMS) for (const one of [client, once]) leaveChecksumsOut(one)
  noticeSilence([client, once])
  return {
    name: config.S3_BUCKET ?? '',
    keys: keysBelow(config.S3_PREFIX),
    client,
    once,
    signer: new S3Client({ ...settings, ...(seen && { endpoint: seen }) }),
    aheadMs: watchClock(client),
    lacks: { conditionalWrites: false },
    timeoutMs,
    inTime: () => ({ abortSignal: AbortSignal.timeout(timeoutMs * attempts) }),
  }
}

/** Without a key of its own, the server looks where AWS programs do: variables, files, and the machine it runs on. */
function credentialsOf({ S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY }: S3Config) {
  if (!S3_ACCESS_KEY_ID || !S3_SECRET_ACCESS_KEY) return {}
  return { credentials: { accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY } }
}
