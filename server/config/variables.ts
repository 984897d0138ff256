import { z } from 'zod'
import { backupAddress } from './bucket-address.ts'
import { cronExpression } from './cron.ts'
import {
  bool,
  dnsServers,
  hostedUrls,
  httpUrl,
  integer,
  internalPath,
  keyPrefix,
  logLevel,
  oneOf,
  postgresUrl,
  proxyTrust,
  text,
} from './forms.ts'
import { identityVariables } from './identity-variables.ts'
import { sdkVariables } from './sdk-variables.ts'
import { traceVariables } from './trace-variables.ts'

type Variable = { schema: z.ZodType; default?: string; about: string; secret?: boolean; required?: boolean; shownDefault?: string }

/**
 * Every environment variable the server reads, in the order of the table in web/help/configuration.md.
 * `default` is what the variable would say if it were set; `shownDefault` describes a default that is derived.
 */
export const variables = {
  ...identityVariables,
  HOST: { schema: text, default: '0.0.0.0', about: 'Address to listen on.' },
  LISTEN_PORT: { schema: integer(0, 65535), default: '8080', about: 'Port to listen on.' },
  MAX_CONNECTIONS_PER_ADDRESS: {
    schema: integer(0, 1_000_000),
    default: '256',
    about: 'Connections that one address (a /64 of IPv6) may have open at once; 0 for any number. Trusted proxies are not counted.',
  },
  DRAIN_DELAY_MS: {
    schema: integer(0, 600_000),
    default: '0',
    about: 'After a signal to stop, keep serving for this long while `/readyz` already answers 503: time for load balancers to notice.',
  },
  DRAIN_TIMEOUT_MS: {
    schema: integer(100, 3_600_000),
    default: '10000',
    about: 'Then requests and jobs that are under way have this long to end.',
  },
  TRUST_PROXY: {
    schema: proxyTrust,
    default: 'false',
    about:
      'Trust X-Forwarded-* from a proxy: true (one hop, a loopback or private peer, 100.64.0.0/10 included) or the address ranges of all proxies.',
  },
  METRICS_PORT: {
    schema: integer(0, 65535),
    about: 'Port for `/metrics` in the format of Prometheus; without it and METRICS_TOKEN there are no metrics.',
  },
  METRICS_HOST: { schema: text, shownDefault: 'HOST', about: 'Address to listen on with METRICS_PORT.' },
  METRICS_TOKEN: {
    schema: z.string().min(16, 'must be at least 16 characters long'),
    secret: true,
    about: 'Bearer token that `/metrics` asks for, at least 16 characters long; without METRICS_PORT it is at LISTEN_PORT.',
  },
  LOG_FORMAT: {
    schema: oneOf('text', 'json'),
    default: 'text',
    about: 'Lines of the log: `text`, or `json` with more about each request.',
  },
  LOG_PROBES: {
    schema: bool,
    default: 'true',
    about: 'Log probes that succeed (`/livez`, `/readyz`, `/healthz`, `/api/v1/health`). Those that fail are always logged.',
  },
  SLOW_QUERY_MS: {
    schema: integer(0, 600_000),
    about: 'Log statements of the database that take so long or longer, in milliseconds: their text without values.',
  },
  ...traceVariables,
  LOG_LEVEL: { schema: logLevel, default: 'info', about: 'Least severe level that is logged: `error`, `warning`, `info` or `debug`.' },
  DATA_DIR: { schema: text, default: './data', about: 'Everything local lives below it.' },
  DB_BACKEND: { schema: oneOf('sqlite', 'postgres'), default: 'sqlite', about: '`sqlite` (embedded) or `postgres`.' },
  SQLITE_PATH: { schema: text, shownDefault: 'DATA_DIR/registry.sqlite', about: 'The SQLite database file.' },
  POSTGRES_URL: { schema: postgresUrl, secret: true, about: 'Connection string; required with DB_BACKEND=postgres.' },
  POSTGRES_READ_URL: {
    schema: postgresUrl,
    secret: true,
    about: 'Connection string of a replica for reads that weigh; it answers only while it has all that the primary has.',
  },
  POSTGRES_POOL_MAX: { schema: integer(1, 1000), default: '10', about: 'Maximum number of PostgreSQL connections for transactions.' },
  POSTGRES_READ_POOL_MAX: {
    schema: integer(1, 1000),
    default: '8',
    about: 'Maximum number of PostgreSQL connections for single reads, and as many to the replica.',
  },
  DB_POOL_TIMEOUT_MS: { schema: integer(100, 600_000), default: '5000', about: 'Longest wait for a free connection, in milliseconds.' },
  DB_CONNECT_TIMEOUT_MS: { schema: integer(100, 600_000), default: '1500', about: 'Longest wait for a new PostgreSQL connection.' },
  DB_STATEMENT_TIMEOUT_MS: { schema: integer(100, 600_000), default: '10000', about: 'PostgreSQL ends a statement that takes longer.' },
  DB_LOCK_TIMEOUT_MS: {
    schema: integer(100, 600_000),
    default: '3000',
    about: 'PostgreSQL ends a statement that waits longer for a row that another transaction changes.',
  },
  DB_IDLE_TRANSACTION_TIMEOUT_MS: {
    schema: integer(1000, 600_000),
    default: '30000',
    about: 'PostgreSQL ends a transaction in which nothing happens for longer.',
  },
  BLOB_BACKEND: { schema: oneOf('filesystem', 's3'), default: 'filesystem', about: 'Where archives are kept: `filesystem` or `s3`.' },
  BLOB_PATH: { schema: text, shownDefault: 'DATA_DIR/blobs', about: 'Folder of the archives, with BLOB_BACKEND=filesystem.' },
  BLOB_GROUP_READ: {
    schema: bool,
    default: 'false',
    about: 'Lets the group of BLOB_PATH read archives, for nginx with ACCEL_REDIRECT_PREFIX. Otherwise only the server can read them.',
  },
  ACCEL_REDIRECT_PREFIX: {
    schema: internalPath,
    about: 'Have nginx in front send large archives from BLOB_PATH itself: the path of its internal location, such as `/-/archives/`.',
  },
  S3_BUCKET: { schema: text, about: 'Bucket; required with BLOB_BACKEND=s3.' },
  S3_PREFIX: { schema: keyPrefix, default: '', about: 'Beginning of all keys in the bucket, such as `snug/`.' },
  S3_REGION: { schema: text, default: 'us-east-1', about: 'Region of the bucket.' },
  S3_ENDPOINT: {
    schema: httpUrl,
    about: 'Address of an S3-compatible service other than AWS.',
  },
  S3_PUBLIC_ENDPOINT: {
    schema: httpUrl,
    about: 'Address at which clients reach the service for signed downloads, when it is not S3_ENDPOINT.',
  },
  S3_ACCESS_KEY_ID: { schema: text, about: 'Access key; without it the default AWS credential sources are used.' },
  S3_SECRET_ACCESS_KEY: { schema: text, secret: true, about: 'Secret of the access key.' },
  S3_FORCE_PATH_STYLE: { schema: bool, default: 'false', about: 'Put the bucket into the path; most S3-compatible services want it.' },
  S3_TIMEOUT_MS: {
    schema: integer(100, 600_000),
    default: '15000',
    about: 'Longest wait for an answer of a slow service, and for more of it; a call is tried three times.',
  },
  S3_CHECKSUMS: {
    schema: bool,
    default: 'true',
    about: 'Have the service compare checksums of what it gets and copies; `false` for one that refuses calls with them.',
  },
  S3_PUBLIC_REDIRECTS: {
    schema: bool,
    default: 'true',
    about: 'Send clients to the bucket for archives of public packages, by a link that holds for a minute.',
  },
  S3_SIGNED_DOWNLOADS: {
    schema: bool,
    default: 'false',
    about: 'Do so for private packages, too: whoever has the link can read the archive for a minute.',
  },
  DOCS_BACKEND: {
    schema: oneOf('blob', 'filesystem'),
    default: 'blob',
    about: 'Where generated documentation is kept: `blob` (with the archives) or `filesystem`.',
  },
  DOCS_PATH: { schema: text, shownDefault: 'DATA_DIR/docs', about: 'Folder of the documentation, with DOCS_BACKEND=filesystem.' },
  BACKUP_TO: {
    schema: backupAddress,
    about:
      'Where to back up to by schedule: a folder apart from the data and the same for all instances, or `s3://bucket/prefix`; without it there are no scheduled backups.',
  },
  BACKUP_SCHEDULE: {
    schema: cronExpression,
    default: '0 3 * * *',
    about: 'When to back up with BACKUP_TO: a cron expression (minute, hour, day of the month, month, day of the week), in UTC.',
  },
  BACKUP_KEEP: {
    schema: integer(1, 10_000),
    default: '7',
    about: 'How many backups stay in BACKUP_TO; the newest one that lacks nothing stays in any case.',
  },
  BACKUP_S3_REGION: { schema: text, shownDefault: 'S3_REGION', about: 'Region of the bucket for backups (`s3://…`).' },
  BACKUP_S3_ENDPOINT: {
    schema: httpUrl,
    shownDefault: 'S3_ENDPOINT',
    about:
      'Address of the service that the bucket for backups is at; for AWS beside another S3_ENDPOINT, such as `https://s3.eu-central-1.amazonaws.com`.',
  },
  BACKUP_S3_ACCESS_KEY_ID: { schema: text, shownDefault: 'S3_ACCESS_KEY_ID', about: 'Access key of the bucket for backups.' },
  BACKUP_S3_SECRET_ACCESS_KEY: {
    schema: text,
    secret: true,
    shownDefault: 'S3_SECRET_ACCESS_KEY',
    about: 'Secret of that access key.',
  },
  BACKUP_S3_FORCE_PATH_STYLE: { schema: bool, shownDefault: 'S3_FORCE_PATH_STYLE', about: 'Put the bucket for backups into the path.' },
  SCORING_ENABLED: {
    schema: bool,
    default: 'true',
    about: 'Analyze published versions on this server; `false` switches scoring off whatever its settings say.',
  },
  SIGNUP_ENABLED: { schema: bool, default: 'false', about: 'Let people make accounts for themselves.' },
  PUBLIC_PACKAGES_ENABLED: { schema: bool, default: 'false', about: 'Permit packages that are readable without signing in.' },
  PUBLIC_CACHE_SECONDS: {
    schema: integer(0, 86_400),
    default: '0',
    about: 'How long caches in front may answer with what was public without asking; with 0 they ask each time.',
  },
  CACHE_BYTES: {
    schema: integer(1_048_576, 2 ** 40),
    default: '67108864',
    about: 'How much memory the caches of an instance may take together, in bytes; see "Memory" on the help page "Capacity".',
  },
  GRAPHQL_FREE_QUERIES: {
    schema: oneOf('everybody', 'tokens'),
    default: 'everybody',
    about:
      'Who may send GraphQL of their own: `everybody`, or `tokens` for requests with an access token; others then send what the console sends.',
  },
  ENFORCE_RETRACTION_WINDOW: { schema: bool, default: 'true', about: 'Keep retraction and restoring within 7 days.' },
  MIN_FREE_BYTES: {
    schema: integer(0, 2 ** 50),
    default: '104857600',
    about:
      'With less free space than this where archives or the SQLite file are, in bytes, archives are refused and `/api/v1/health` is degraded.',
  },
  MAX_UPLOAD_BYTES: { schema: integer(1, 2 ** 40), default: '104857600', about: 'Largest archive that is accepted, in bytes.' },
  UPLOAD_STAGING_BYTES: {
    schema: integer(1, 2 ** 44),
    default: '1073741824',
    about: 'How much one person may have uploaded and not yet finished, in bytes; one archive always fits.',
  },
  ALLOWED_HOSTED_URLS: { schema: hostedUrls, default: '', about: 'Further hosts that dependencies may name, separated by commas.' },
  CONFUSABLE_NAMES: {
    schema: oneOf('warn', 'review'),
    default: 'warn',
    about: 'New package names that could be confused with others: `warn`, or `review` to wait for an administrator.',
  },
  PASSWORD_MIN_LENGTH: { schema: integer(8, 72), default: '8', about: 'Shortest password that is accepted.' },
  TOKEN_MAX_DAYS: {
    schema: integer(1, 3650),
    about: 'Maximum lifetime of new access tokens, in days; without it tokens need not expire.',
  },
  SIGN_IN_LIMIT: {
    schema: integer(1, 100_000),
    default: '10',
    about: 'How many sign-ins, signups, invitation look-ups and invitation acceptances one address may make in 15 minutes, each.',
  },
  BCRYPT_COST: {
    schema: integer(4, 15, 'must be 4 to 15'),
    default: '12',
    about: 'Cost of password hashing, 4 to 15; below 10 with a warning.',
  },
  DNS_SERVERS: { schema: dnsServers, default: '', about: "Resolvers for domain verification; the system's when empty." },
  ...sdkVariables,
} satisfies Record<string, Variable>

export type VariableName = keyof typeof variables
