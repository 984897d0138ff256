import {
  GetObjectCommand,
  type GetObjectCommandOutput,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { randomUUID } from 'node:crypto'
import { ConfigError } from '../../config/config.ts'
import type { Bucket } from './bucket.ts'
import { codeOf, isUnsupported, statusOf } from './errors.ts'
import { deleteObject } from './objects.ts'
import { nameOfBucket, type S3Config } from './settings.ts'

/** Clocks may differ by so much: services refuse requests beyond 15 minutes, and ages are judged by the clock of the service. */
const maxSkewMs = 5 * 60_000

/** The rights that the key needs, and what tries them. */
type Step = { right: string; run: () => Promise<unknown> }

/**
 * Tries everything that the store does with its bucket once.
 * @throws ConfigError that says what is wrong and which variable or right to correct; Error when the service does not answer.
 */
export async function checkBucket(bucket: Bucket, config: S3Config): Promise<void> {
  for (const { right, run } of steps(bucket)) {
    try {
      await run()
    } catch (error) {
      if (isUnsupported(error)) continue
      const problem = problemOf(error, config, right)
      if (problem) throw new ConfigError([`The archive store ${nameOfBucket(config)} cannot be used: ${problem}`, `(${describe(error)})`])
      throw new Error(`The archive store ${nameOfBucket(config)} does not answer at ${addressOf(config)}: ${describe(error)}`, {
        cause: error,
      })
    }
  }
  const ahead = bucket.aheadMs()
  if (Math.abs(ahead) > maxSkewMs)
    throw new ConfigError([
      `The clock of this machine is ${Math.round(Math.abs(ahead) / 1000)} seconds ${ahead > 0 ? 'ahead of' : 'behind'} that of ${addressOf(config)}. Set it, for example with NTP.`,
    ])
}

function steps({ client, name, keys, inTime, ...bucket }: Bucket): Step[] {
  const key = `${keys.staging}start-${randomUUID()}`
  const probe = { Bucket: name, Key: key }
  return [
    { right: 's3:ListBucket', run: () => client.send(new ListObjectsV2Command({ Bucket: name, Prefix: keys.root, MaxKeys: 1 }), inTime()) },
    { right: 's3:PutObject', run: () => client.send(new PutObjectCommand({ ...probe, Body: Buffer.from(key) }), inTime()) },
    { right: 's3:GetObject', run: async () => sameAs(key, await client.send(new GetObjectCommand(probe), inTime())) },
    { right: 's3:DeleteObject', run: () => deleteObject({ client, name, keys, inTime, ...bucket }, key) },
    {
      right: 's3:ListBucketMultipartUploads',
      run: () => client.send(new ListMultipartUploadsCommand({ Bucket: name, Prefix: keys.staging, MaxUploads: 1 }), inTime()),
    },
  ]
}

async function sameAs(text: string, { Body }: GetObjectCommandOutput): Promise<void> {
  if ((await Body?.transformToString()) !== text) throw new Error('what was written is not what was read')
}

/** What is wrong with the configuration; null when the service is away, which passes. */
function problemOf(error: unknown, { S3_BUCKET = '', S3_REGION, ...config }: S3Config, right: string): string | null {
  const code = codeOf(error)
  const there = `at ${addressOf({ ...config, S3_REGION })}`
  if (code === 'NoSuchBucket') return `there is no bucket ${S3_BUCKET} ${there}. Make it, or correct S3_BUCKET or S3_ENDPOINT.`
  if (code === 'InvalidBucketName') return `${S3_BUCKET} is no name of a bucket. Correct S3_BUCKET.`
  if (['PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException'].includes(code) || statusOf(error) === 301)
    return `the bucket is not in the region ${S3_REGION}${regionIn(error)}. Correct S3_REGION.`
  if (code === 'InvalidAccessKeyId') return `the service does not know the access key ${there}. Correct S3_ACCESS_KEY_ID.`
  if (code === 'SignatureDoesNotMatch') return `the secret does not fit the access key. Correct S3_SECRET_ACCESS_KEY.`
  if (['CredentialsProviderError', 'ExpiredToken', 'InvalidToken'].includes(code))
    return 'there is no valid access key. Set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or the usual sources of AWS credentials.'
  if (code === 'RequestTimeTooSkewed') return 'the clock of this machine is wrong. Set it, for example with NTP.'
  if (code === 'AccessDenied' || statusOf(error) === 403)
    return `the access key may not do ${right}. Give it the rights that the README lists.`
  return null
}

const addressOf = ({ S3_ENDPOINT, S3_REGION }: Pick<S3Config, 'S3_ENDPOINT' | 'S3_REGION'>) => S3_ENDPOINT ?? `AWS in ${S3_REGION}`

/** Services tell the right one with the error. */
function regionIn(error: unknown): string {
  const region = error instanceof Error && 'Region' in error && typeof error.Region === 'string' ? error.Region : ''
  return region ? ` but in ${region}` : ''
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return [codeOf(error), error.message].filter(Boolean).join(': ')
}
