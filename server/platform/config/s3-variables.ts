import { bool, httpUrl, integer, keyPrefix, text } from './forms.ts'

/** Settings of the S3 bucket for archives. */
export const s3Variables = {
  S3_BUCKET: { schema: text, about: 'Bucket name; required with BLOB_BACKEND=s3.' },
  S3_PREFIX: { schema: keyPrefix, default: '', about: 'Prefix of all keys in the bucket, such as `snug/`.' },
  S3_REGION: { schema: text, default: 'us-east-1', about: 'Region of the bucket.' },
  S3_ENDPOINT: {
    schema: httpUrl,
    about: 'URL of an S3-compatible service other than AWS.',
  },
  S3_PUBLIC_ENDPOINT: {
    schema: httpUrl,
    about: 'URL of the service for clients, used in signed download URLs, if it differs from S3_ENDPOINT.',
  },
  S3_ACCESS_KEY_ID: { schema: text, about: 'Access key id. By default, the AWS credential provider chain is used.' },
  S3_SECRET_ACCESS_KEY: { schema: text, secret: true, about: 'Secret access key.' },
  S3_FORCE_PATH_STYLE: {
    schema: bool,
    default: 'false',
    about: 'Use path-style URLs, with the bucket in the path. Most S3-compatible services require this.',
  },
  S3_TIMEOUT_MS: {
    schema: integer(100, 600_000),
    default: '15000',
    about: 'Timeout for S3 requests and reads, in milliseconds. Each request is attempted up to three times.',
  },
  S3_CHECKSUMS: {
    schema: bool,
    default: 'true',
    about: 'Send checksums that the service verifies on uploads and copies. Set to `false` for services that reject them.',
  },
  S3_PUBLIC_REDIRECTS: {
    schema: bool,
    default: 'true',
    about: 'Redirect clients to the bucket for archives of public packages, by signed URLs that expire after one minute.',
  },
  S3_SIGNED_DOWNLOADS: {
    schema: bool,
    default: 'false',
    about: 'Also redirect for private packages. Anyone with the URL can read the archive for one minute.',
  },
} as const
