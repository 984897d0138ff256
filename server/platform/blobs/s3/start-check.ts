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
import { isUnsupported } from './errors.ts'
import { deleteObject } from './objects.ts'
import { addressOf, bucketFailure, type BucketUse, type S3Config } from './settings.ts'

/**
 * Maximum difference between the local clock and the clock of the service, in milliseconds. Services reject requests if it exceeds 15 minutes, and
 * the age of objects is based on the clock of the service.
 */
const maxSkewMs = 5 * 60_000

/**
 * Tests every operation on a bucket once.
 * @throws ConfigError that names the setting or permission to correct.
 * @throws Error if the service does not respond.
 */
export async function checkBucket(bucket: Bucket, config: S3Config, use: BucketUse): Promise<void> {
  for (const { right, run } of steps(bucket, `${bucket.keys.root}${use.probes}`)) {
    try {
      await run()
    } catch (error) {
      if (isUnsupported(error)) continue
      throw bucketFailure(error, config, use, right)
    }
  }
  const ahead = bucket.aheadMs()
  if (Math.abs(ahead) > maxSkewMs)
    throw new ConfigError([
      `The clock of this machine is ${Math.round(Math.abs(ahead) / 1000)} seconds ${ahead > 0 ? 'ahead of' : 'behind'} that of ${addressOf(config)}. Set it, for example with NTP.`,
    ])
}

/** Returns the permissions that the access key needs, and a request that tests each. */
function steps(bucket: Bucket, probes: string): { right: string; run: () => Promise<unknown> }[] {
  const { client, name, keys, inTime } = bucket
  const key = `${probes}start-${randomUUID()}`
  const probe = { Bucket: name, Key: key }
  return [
    { right: 's3:ListBucket', run: () => client.send(new ListObjectsV2Command({ Bucket: name, Prefix: keys.root, MaxKeys: 1 }), inTime()) },
    { right: 's3:PutObject', run: () => client.send(new PutObjectCommand({ ...probe, Body: Buffer.from(key) }), inTime()) },
    { right: 's3:GetObject', run: async () => requireSameText(key, await client.send(new GetObjectCommand(probe), inTime())) },
    { right: 's3:DeleteObject', run: () => deleteObject(bucket, key) },
    {
      right: 's3:ListBucketMultipartUploads',
      run: () => client.send(new ListMultipartUploadsCommand({ Bucket: name, Prefix: probes, MaxUploads: 1 }), inTime()),
    },
  ]
}

async function requireSameText(text: string, { Body }: GetObjectCommandOutput): Promise<void> {
  if ((await Body?.transformToString()) !== text) throw new Error('the bytes read differ from the bytes written')
}
