import type { S3Client } from '@aws-sdk/client-s3'

/** Overrides that remove all checksum options from a request. */
const none = { ChecksumAlgorithm: undefined, ChecksumSHA256: undefined, ChecksumMode: undefined }

/** Removes checksums from all requests of a client. Some services reject requests that contain them. */
export function omitChecksums(client: S3Client): void {
  client.middlewareStack.add((next) => async (args) => next({ ...args, input: { ...args.input, ...none } }), {
    step: 'initialize',
    name: 'omitChecksums',
    override: true,
  })
}
