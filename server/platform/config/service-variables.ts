import {
  backupAddress,
  bearerToken,
  cronExpression,
  bool,
  hostList,
  httpUrl,
  integer,
  keyPrefix,
  namePatterns,
  proxyExceptions,
  proxyUrl,
  text,
  oneOf,
  upstreamUrl,
} from './forms.ts'
import { z } from 'zod'

/** Settings of the sign-in. */
export const signInVariables = {
  SIGN_IN_LIMIT: {
    schema: integer(1, 100_000),
    default: '10',
    about: 'Maximum number of sign-ins, signups, invitation lookups and invitation acceptances per client address in 15 minutes, each.',
  },
  REQUIRE_SECOND_FACTOR: {
    schema: oneOf('off', 'admins', 'all'),
    default: 'off',
    about: 'Who must have a second factor (a passkey or an authenticator app) to use the console: `off`, `admins` or `all`.',
  },
  BCRYPT_COST: {
    schema: integer(4, 15, 'must be 4 to 15'),
    default: '12',
    about: 'bcrypt cost for password hashes, 4 to 15. Below 10, the server logs a warning.',
  },
}

/** Settings of the S3 bucket for archives. */
export const s3Variables = {
  S3_BUCKET: { schema: text, about: 'Bucket name; required with BLOB_BACKEND=s3.' },
  S3_PREFIX: { schema: keyPrefix, default: '', about: 'Prefix of all keys in the bucket, such as `snug/`.' },
  S3_REGION: { schema: text, default: 'us-east-1', about: 'Region of the bucket.' },
  S3_ENDPOINT: { schema: httpUrl, about: 'URL of an S3-compatible service other than AWS.' },
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

/** Settings of scheduled backups. */
export const backupVariables = {
  BACKUP_TO: {
    schema: backupAddress,
    about:
      'Destination of scheduled backups: a folder outside of the data, shared by all instances, or `s3://bucket/prefix`. Without it, scheduled backups are disabled.',
  },
  BACKUP_SCHEDULE: {
    schema: cronExpression,
    default: '0 3 * * *',
    about: 'Schedule of backups to BACKUP_TO: a cron expression (minute, hour, day of the month, month, day of the week), in UTC.',
  },
  BACKUP_KEEP: {
    schema: integer(1, 10_000),
    default: '7',
    about: 'Number of backups to keep in BACKUP_TO. The newest complete backup is always kept.',
  },
  BACKUP_S3_REGION: { schema: text, shownDefault: 'S3_REGION', about: 'Region of the backup bucket (`s3://…`).' },
  BACKUP_S3_ENDPOINT: {
    schema: httpUrl,
    shownDefault: 'S3_ENDPOINT',
    about:
      'URL of the S3 service of the backup bucket. For AWS if S3_ENDPOINT is another service, for example `https://s3.eu-central-1.amazonaws.com`.',
  },
  BACKUP_S3_ACCESS_KEY_ID: { schema: text, shownDefault: 'S3_ACCESS_KEY_ID', about: 'Access key id for the backup bucket.' },
  BACKUP_S3_SECRET_ACCESS_KEY: {
    schema: text,
    secret: true,
    shownDefault: 'S3_SECRET_ACCESS_KEY',
    about: 'Secret access key for the backup bucket.',
  },
  BACKUP_S3_FORCE_PATH_STYLE: { schema: bool, shownDefault: 'S3_FORCE_PATH_STYLE', about: 'Use path-style URLs for the backup bucket.' },
} as const

/** Settings for downloading SDKs and for running them. */
export const sdkVariables = {
  SCORING_SANDBOX: {
    schema: text,
    about: 'Sandbox for processes of an SDK: `bwrap`, or a command line to prepend, in which {folder} is replaced by the job folder.',
  },
  SCORING_MEMORY_BYTES: {
    schema: integer(2 ** 26, 2 ** 44),
    default: '3221225472',
    about: 'Memory limit for all processes that analyze one version with an SDK, in bytes.',
  },
  SDK_ARCHIVE_URL: {
    schema: httpUrl,
    default: 'https://storage.googleapis.com/dart-archive',
    about: 'Mirror of the Dart SDK archive, for closed networks.',
  },
  FLUTTER_ARCHIVE_URL: {
    schema: httpUrl,
    default: 'https://storage.googleapis.com/flutter_infra_release/releases',
    about: 'Mirror of the Flutter release archive.',
  },
  SDK_PUB_HOSTED_URL: {
    schema: httpUrl,
    default: 'https://pub.dev',
    about: 'Package server from which SDKs download pana and dependencies without another host.',
  },
} as const

const collectorUrl = z
  .url({ protocol: /^https?$/, error: 'write an http(s) address, such as http://localhost:4318' })
  .refine(
    (url) => !URL.canParse(url) || new URL(url).username === '',
    'write credentials into OTEL_EXPORTER_OTLP_HEADERS, not into the URL',
  )

/** Standard OpenTelemetry settings that control tracing. The OpenTelemetry SDK reads further ones itself. */
export const traceVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: collectorUrl,
    about:
      'URL of an OpenTelemetry collector that accepts OTLP over HTTP, such as `http://localhost:4318`. Without it, tracing is disabled.',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    schema: collectorUrl,
    shownDefault: 'OTEL_EXPORTER_OTLP_ENDPOINT/v1/traces',
    about: 'Full URL for sending traces.',
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    schema: oneOf('http/protobuf', 'http/json'),
    shownDefault: '`http/protobuf`',
    about: 'Encoding of traces: `http/protobuf` or `http/json`.',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: text,
    secret: true,
    about: 'Headers sent with traces, such as an API key: `name=value`, separated by commas.',
  },
  OTEL_TRACES_SAMPLER: {
    schema: oneOf('always_on', 'always_off', 'traceidratio', 'parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'),
    shownDefault: '`parentbased_always_on`',
    about: 'Which requests and jobs are traced. `parentbased_` samplers follow the header `traceparent` if present.',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    schema: z.coerce.number('write a number').min(0, 'at least 0').max(1, 'at most 1'),
    shownDefault: '`1`',
    about: 'Fraction of requests and jobs that the `traceidratio` samplers trace, from 0 to 1.',
  },
  OTEL_TRACES_EXPORTER: { schema: oneOf('otlp', 'none'), shownDefault: '`otlp`', about: '`none` disables tracing.' },
  OTEL_SDK_DISABLED: { schema: bool, shownDefault: '`false`', about: '`true` disables tracing.' },
} as const

/** Forward proxies for requests to other servers. The names in lower case, as other programs read them, take precedence. */
export const proxyVariables = {
  HTTP_PROXY: {
    schema: proxyUrl,
    about:
      'Forward proxy for requests to http URLs, such as `http://user:password@proxy.example.com:3128`. The lower-case name `http_proxy` takes precedence, as for the next three settings.',
  },
  HTTPS_PROXY: { schema: proxyUrl, about: 'Forward proxy for requests to https URLs.' },
  ALL_PROXY: { schema: proxyUrl, about: 'Forward proxy for both, where HTTP_PROXY or HTTPS_PROXY is not set.' },
  NO_PROXY: {
    schema: proxyExceptions,
    default: '',
    about:
      'Hosts that are contacted without a proxy, separated by commas: `example.com` (with its subdomains), `10.0.0.0/8`, `minio:9000`, or `*` for all. This machine always is.',
  },
} as const

/** Settings of the mirror of another package server, and of CI systems. */
export const mirrorVariables = {
  UPSTREAM_URL: {
    schema: upstreamUrl,
    about: 'Package server to mirror below `/mirror`, such as `https://pub.dev`. Without it, there is no mirror.',
  },
  UPSTREAM_TOKEN: {
    schema: bearerToken,
    secret: true,
    about: 'Access token for the upstream server, sent as `Authorization: Bearer` only to URLs below UPSTREAM_URL.',
  },
  UPSTREAM_ARCHIVE_HOSTS: {
    schema: hostList,
    default: '',
    about:
      'Further hosts of archives of the upstream server, with a port unless it is 80 or 443, separated by commas: `10.0.0.5:9000`. Private addresses and http are allowed.',
  },
  UPSTREAM_ACCESS: {
    schema: oneOf('token', 'open'),
    default: 'token',
    about: 'Who may read the mirror: `token` (callers with an access token or session) or `open` (everyone who can reach the server).',
  },
  UPSTREAM_TTL: {
    schema: integer(0, 86_400),
    default: '600',
    about: 'Time after which a mirrored listing is compared with the upstream server again, in seconds.',
  },
  UPSTREAM_NEVER: {
    schema: namePatterns,
    default: '',
    about: 'Package names that are never requested from the upstream server, separated by commas. `*` stands for any characters: `acme_*`.',
  },
  UPSTREAM_CACHE_BYTES: {
    schema: integer(1_048_576, 2 ** 50),
    default: '10737418240',
    about:
      'Maximum size of the mirror on disk or in the bucket, in bytes. Beyond it, the files that were not used for the longest time are deleted.',
  },
  TOKEN_ISSUER_HOSTS: {
    schema: hostList,
    default: '',
    about:
      'Hosts in this network of CI systems for trusted publishing, and of sign-in providers that administrators add in the console, with a port unless it is 80 or 443, separated by commas: `gitlab.internal`. Private addresses and http are allowed there.',
  },
}
