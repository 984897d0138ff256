import { z } from 'zod'
import {
  bool,
  dnsServers,
  hostedUrls,
  integer,
  internalPath,
  logLevel,
  oneOf,
  postgresUrl,
  proxyTrustForm,
  text,
  serverUrl,
} from './forms.ts'
import { oidcVariables } from './oidc-variables.ts'
import {
  backupVariables,
  mirrorVariables,
  proxyVariables,
  s3Variables,
  sdkVariables,
  signInVariables,
  traceVariables,
} from './service-variables.ts'

const secret = z.string().min(32, 'must be at least 32 characters long')

type Variable = { schema: z.ZodType; default?: string; about: string; secret?: boolean; required?: boolean; shownDefault?: string }

/**
 * The environment variables that the server reads, in the order of web/help/configuration.md. `shownDefault` describes a
 * default that is derived from other settings.
 */
export const variables = {
  SERVER_URL: { schema: serverUrl, required: true, about: 'Public URL of the server, exactly as clients use it. May include a path.' },
  JWT_SECRET: {
    schema: secret,
    required: true,
    secret: true,
    about:
      'Secret for session keys: at least 32 random characters. Changing it signs everyone out unless JWT_SECRET_PREVIOUS is set to the old value.',
  },
  JWT_SECRET_PREVIOUS: {
    schema: secret,
    secret: true,
    about: 'Previous JWT_SECRET after a rotation: its sessions stay valid. Remove it after 30 days, when they have all expired.',
  },
  INSTANCES_MAY_DIFFER: {
    schema: bool,
    default: 'false',
    about:
      'Start even if a running instance has a different JWT_SECRET, SERVER_URL or archive store. Use only during a rolling replacement of instances.',
  },
  HOST: { schema: text, default: '0.0.0.0', about: 'Address to listen on.' },
  LISTEN_PORT: { schema: integer(0, 65535), default: '8080', about: 'Port to listen on.' },
  MAX_CONNECTIONS_PER_ADDRESS: {
    schema: integer(0, 1_000_000),
    default: '256',
    about: 'Maximum number of concurrent connections per client address (per /64 for IPv6); 0 for no limit. Trusted proxies are exempt.',
  },
  DRAIN_DELAY_MS: {
    schema: integer(0, 600_000),
    default: '0',
    about:
      'Delay before shutdown, in milliseconds: the server keeps serving while `/readyz` returns 503, so that load balancers stop sending requests.',
  },
  DRAIN_TIMEOUT_MS: {
    schema: integer(100, 3_600_000),
    default: '10000',
    about: 'Grace period for in-flight requests and jobs during shutdown, in milliseconds.',
  },
  TRUST_PROXY: {
    schema: proxyTrustForm,
    default: 'false',
    about:
      'Trust X-Forwarded-* headers: true (one proxy with a loopback or private address, including 100.64.0.0/10) or the address ranges of all proxies.',
  },
  METRICS_PORT: {
    schema: integer(0, 65535),
    about: 'Port for `/metrics` in Prometheus format. Metrics are disabled if neither METRICS_PORT nor METRICS_TOKEN is set.',
  },
  METRICS_HOST: { schema: text, shownDefault: 'HOST', about: 'Address to listen on with METRICS_PORT.' },
  METRICS_TOKEN: {
    schema: z.string().min(16, 'must be at least 16 characters long'),
    secret: true,
    about: 'Bearer token required for `/metrics`, at least 16 characters. Without METRICS_PORT, metrics are served on LISTEN_PORT.',
  },
  LOG_FORMAT: {
    schema: oneOf('text', 'json'),
    default: 'text',
    about: 'Log format: `text`, or `json` with more details about each request.',
  },
  LOG_PROBES: {
    schema: bool,
    default: 'true',
    about: 'Log successful probes (`/livez`, `/readyz`, `/healthz`, `/api/v1/health`). Failed probes are always logged.',
  },
  SLOW_QUERY_MS: {
    schema: integer(0, 600_000),
    about: 'Log database statements that take at least this long, in milliseconds. The log contains the statement without values.',
  },
  ...traceVariables,
  LOG_LEVEL: { schema: logLevel, default: 'info', about: 'Least severe level that is logged: `error`, `warning`, `info` or `debug`.' },
  DATA_DIR: { schema: text, default: './data', about: 'Folder for all local data.' },
  DB_BACKEND: { schema: oneOf('sqlite', 'postgres'), default: 'sqlite', about: '`sqlite` (embedded) or `postgres`.' },
  SQLITE_PATH: { schema: text, shownDefault: 'DATA_DIR/registry.sqlite', about: 'The SQLite database file.' },
  POSTGRES_URL: { schema: postgresUrl, secret: true, about: 'PostgreSQL connection string; required with DB_BACKEND=postgres.' },
  POSTGRES_POOL_MAX: { schema: integer(1, 1000), default: '10', about: 'Maximum number of PostgreSQL connections for transactions.' },
  POSTGRES_READ_POOL_MAX: { schema: integer(1, 1000), default: '8', about: 'Maximum number of PostgreSQL connections for single reads.' },
  DB_POOL_TIMEOUT_MS: {
    schema: integer(100, 600_000),
    default: '5000',
    about: 'Timeout for getting a connection from the pool, in milliseconds.',
  },
  DB_CONNECT_TIMEOUT_MS: {
    schema: integer(100, 600_000),
    default: '1500',
    about: 'Timeout for opening a PostgreSQL connection, and for noticing that PostgreSQL does not respond, in milliseconds.',
  },
  DB_STATEMENT_TIMEOUT_MS: { schema: integer(100, 600_000), default: '10000', about: 'PostgreSQL `statement_timeout`, in milliseconds.' },
  DB_LOCK_TIMEOUT_MS: { schema: integer(100, 600_000), default: '3000', about: 'PostgreSQL `lock_timeout`, in milliseconds.' },
  DB_IDLE_TRANSACTION_TIMEOUT_MS: {
    schema: integer(1000, 600_000),
    default: '30000',
    about: 'PostgreSQL `idle_in_transaction_session_timeout`, in milliseconds.',
  },
  BLOB_BACKEND: { schema: oneOf('filesystem', 's3'), default: 'filesystem', about: 'Storage for archives: `filesystem` or `s3`.' },
  BLOB_PATH: { schema: text, shownDefault: 'DATA_DIR/blobs', about: 'Folder of the archives, with BLOB_BACKEND=filesystem.' },
  BLOB_GROUP_READ: {
    schema: bool,
    default: 'false',
    about:
      'Allow the group of BLOB_PATH to read archives, for nginx with ACCEL_REDIRECT_PREFIX. By default, only the server can read them.',
  },
  ACCEL_REDIRECT_PREFIX: {
    schema: internalPath,
    about:
      'Path of an internal nginx location that serves BLOB_PATH, such as `/-/archives/`. nginx then sends large archives directly (X-Accel-Redirect).',
  },
  ...s3Variables,
  DOCS_BACKEND: {
    schema: oneOf('blob', 'filesystem'),
    default: 'blob',
    about: 'Storage for generated documentation: `blob` (with the archives) or `filesystem`.',
  },
  DOCS_PATH: { schema: text, shownDefault: 'DATA_DIR/docs', about: 'Folder of the documentation, with DOCS_BACKEND=filesystem.' },
  ...backupVariables,
  SCORING_ENABLED: {
    schema: bool,
    default: 'true',
    about: 'Analyze published versions. `false` disables scoring regardless of the settings in the console.',
  },
  SIGNUP_ENABLED: { schema: bool, default: 'false', about: 'Allow users to sign up without an invitation.' },
  PUBLIC_PACKAGES_ENABLED: { schema: bool, default: 'false', about: 'Allow packages that can be read without signing in.' },
  PUBLIC_CACHE_SECONDS: {
    schema: integer(0, 86_400),
    default: '0',
    about: 'How long shared caches may serve public responses without revalidation, in seconds. With 0, they revalidate every time.',
  },
  CACHE_BYTES: {
    schema: integer(1_048_576, 2 ** 40),
    default: '67108864',
    about: 'Total memory for the caches of an instance, in bytes. See "Memory" on the help page "Capacity".',
  },
  README_IMAGES: {
    schema: oneOf('proxy', 'direct', 'off'),
    default: 'proxy',
    about:
      'Images of other servers in READMEs and API documentation: `proxy` (fetched and cached by this server), `direct` (loaded by the browser, which reveals readers) or `off` (not loaded).',
  },
  GRAPHQL_FREE_QUERIES: {
    schema: oneOf('everybody', 'tokens'),
    default: 'everybody',
    about:
      'Who may send arbitrary GraphQL queries: `everybody`, or `tokens` for requests with an access token. Other requests can then only use the queries of the console.',
  },
  ENFORCE_RETRACTION_WINDOW: { schema: bool, default: 'true', about: 'Limit retracting and restoring of versions to 7 days.' },
  MIN_FREE_BYTES: {
    schema: integer(0, 2 ** 50),
    default: '104857600',
    about:
      'Minimum free disk space for archives and the SQLite file, in bytes. Below it, uploads are rejected and `/api/v1/health` reports `degraded`.',
  },
  MAX_UPLOAD_BYTES: { schema: integer(1, 2 ** 40), default: '104857600', about: 'Maximum archive size, in bytes.' },
  UPLOAD_STAGING_BYTES: {
    schema: integer(1, 2 ** 44),
    default: '1073741824',
    about: 'Maximum total size of unfinished uploads per user, in bytes. One archive is always allowed.',
  },
  ALLOWED_HOSTED_URLS: {
    schema: hostedUrls,
    default: '',
    about: 'Additional package servers that dependencies may use: URLs, separated by commas.',
  },
  ...mirrorVariables,
  CONFUSABLE_NAMES: {
    schema: oneOf('warn', 'review'),
    default: 'warn',
    about:
      'Handling of new package names that are easily confused with others: `warn`, or `review` to require approval by an administrator.',
  },
  ...oidcVariables,
  PASSWORD_MIN_LENGTH: { schema: integer(8, 72), default: '8', about: 'Minimum password length.' },
  TOKEN_MAX_DAYS: {
    schema: integer(1, 3650),
    about: 'Maximum lifetime of new access tokens, in days. By default, tokens may have no expiration.',
  },
  ...signInVariables,
  DNS_SERVERS: {
    schema: dnsServers,
    default: '',
    about:
      'DNS servers for domain verification, images of other servers and the upstream server. By default, the resolvers of the system are used.',
  },
  ...proxyVariables,
  ...sdkVariables,
} satisfies Record<string, Variable>

export type VariableName = keyof typeof variables
