import type { S3Client } from '@aws-sdk/client-s3'

/** What asks a service to compare checksums, to keep them, or to tell them. */
const none = { ChecksumAlgorithm: undefined, ChecksumSHA256: undefined, ChecksumMode: undefined }

/** Has no call of a client name a checksum: some services refuse calls that do. */
export function leaveChecksumsOut(client: S3Client): void {
  client.middlewareStack.add((next) => async (args) => next({ ...args, input: { ...args.input, ...none } }), {
    step: 'initialize',
    name: 'leaveChecksumsOut',
    override: true,
  })
}
