import { isIP } from 'node:net'
import { type Config, ConfigError } from '../../config/config.ts'
import type { ProxySettings } from '../../outbound/proxy.ts'
import { codeOf, responseStatus } from './errors.ts'

/** The settings of a bucket. */
export type S3Config = Pick<
  Config,
  | 'S3_BUCKET'
  | 'S3_PREFIX'
  | 'S3_REGION'
  | 'S3_ENDPOINT'
  | 'S3_PUBLIC_ENDPOINT'
  | 'S3_ACCESS_KEY_ID'
  | 'S3_SECRET_ACCESS_KEY'
  | 'S3_FORCE_PATH_STYLE'
  | 'S3_TIMEOUT_MS'
  | 'S3_CHECKSUMS'
> &
  ProxySettings

/** Returns the name of a bucket for messages. */
export const nameOfBucket = ({ S3_BUCKET, S3_PREFIX }: Pick<S3Config, 'S3_BUCKET' | 'S3_PREFIX'>): string =>
  `s3://${S3_BUCKET ?? ''}/${S3_PREFIX}`

/** How messages refer to a bucket: its purpose, the setting with its name, the prefix of its settings, and the key prefix for probe objects. */
export type BucketUse = { what: string; said: string; variables: 'S3_' | 'BACKUP_S3_'; probes: string }

/**
 * Converts an error of a bucket into a ConfigError that names the setting to correct, or into an Error with the code STORAGE_AWAY if the service
 * does not respond.
 */
export function bucketFailure(error: unknown, config: S3Config, use: BucketUse, right: string | null = null): Error {
  const name = `${use.what} ${nameOfBucket(config)}`
  const problem = problemOf(error, config, use, right)
  if (problem) return new ConfigError([`${name} cannot be used: ${problem}`, `(${describe(error)})`])
  const away = new Error(`${name} does not answer at ${addressOf(config)}: ${describe(error)}`, { cause: error })
  return Object.assign(away, { code: 'STORAGE_AWAY' })
}

/** Describes what is wrong with the configuration. Returns null if the service is temporarily unavailable. */
function problemOf(
  error: unknown,
  { S3_BUCKET = '', S3_REGION, ...config }: S3Config,
  { said, variables }: BucketUse,
  right: string | null,
): string | null {
  const code = codeOf(error)
  const there = `at ${addressOf({ ...config, S3_REGION })}`
  if (code === 'NoSuchBucket') return `there is no bucket ${S3_BUCKET} ${there}. Create it, or correct ${said} or ${variables}ENDPOINT.`
  if (code === 'InvalidBucketName') return `${S3_BUCKET} is not a valid bucket name. Correct ${said}.`
  if (
    ['PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException'].includes(code) ||
    responseStatus(error) === 301
  )
    return `the bucket is not in the region ${S3_REGION}${regionIn(error)}. Correct ${variables}REGION.`
  if (code === 'InvalidAccessKeyId') return `the service does not know the access key ${there}. Correct ${variables}ACCESS_KEY_ID.`
  if (code === 'SignatureDoesNotMatch') return `the secret does not match the access key. Correct ${variables}SECRET_ACCESS_KEY.`
  if (['CredentialsProviderError', 'ExpiredToken', 'InvalidToken'].includes(code))
    return `there is no valid access key. Set ${variables}ACCESS_KEY_ID and ${variables}SECRET_ACCESS_KEY, or configure another source of AWS credentials.`
  if (code === 'RequestTimeTooSkewed') return 'the clock of this machine is wrong. Set it, for example with NTP.'
  if (code === 'AccessDenied' || responseStatus(error) === 403)
    return `the access key may not do ${right ?? 'this'}. Grant it the rights that the help page "S3" lists.`
  return null
}

/** Returns the address of the service for messages. */
export const addressOf = ({ S3_ENDPOINT, S3_REGION }: Pick<S3Config, 'S3_ENDPOINT' | 'S3_REGION'>): string =>
  S3_ENDPOINT ?? `AWS in ${S3_REGION}`

/** Returns the URL to which requests for a bucket are sent. */
export function bucketUrl({ S3_BUCKET, S3_ENDPOINT, S3_REGION, S3_FORCE_PATH_STYLE }: S3Config): URL {
  const url = new URL(S3_ENDPOINT ?? `https://s3.${S3_REGION}.amazonaws.com`)
  if (!S3_FORCE_PATH_STYLE && isIP(url.hostname.replace(/[[\]]/g, '')) === 0) url.hostname = `${S3_BUCKET ?? ''}.${url.hostname}`
  return url
}

/** Returns the correct region, which services include in the error. */
function regionIn(error: unknown): string {
  const region = error instanceof Error && 'Region' in error && typeof error.Region === 'string' ? error.Region : ''
  return region ? ` but in ${region}` : ''
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return [codeOf(error), error.message].filter(Boolean).join(': ')
}
