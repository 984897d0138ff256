import { z } from 'zod'
import { Cron } from 'croner'

// Schemas of settings, with their error messages.

export const bool = z.stringbool({ truthy: ['true', '1', 'yes', 'on'], falsy: ['false', '0', 'no', 'off'], error: 'write true or false' })
/** An integer in a range. `message` replaces the default error message for values out of range. */
export const integer = (min: number, max: number, message?: string) =>
  z
    .string()
    .regex(/^\d+$/, 'write a whole number')
    .transform(Number)
    .pipe(
      z
        .number()
        .min(min, message ?? `at least ${min}`)
        .max(max, message ?? `at most ${max}`),
    )
export const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
)
/** One of several lower-case values; input is case-insensitive. */
export const oneOf = <const T extends string[]>(...values: T) =>
  z
    .string()
    .trim()
    .toLowerCase()
    .pipe(z.enum(values, { error: `write one of ${values.join(', ')}` }))
/** A log level. `warn` is an alias of `warning`. */
export const logLevel = z
  .string()
  .transform((level) => (level.trim().toLowerCase() === 'warn' ? 'warning' : level))
  .pipe(oneOf('error', 'warning', 'info', 'debug'))
export const text = z.string().trim().min(1, 'must not be empty')

const isIp = (host: string) => z.union([z.ipv4(), z.ipv6()]).safeParse(host.replace(/^\[|\]$/g, '')).success

/** Characters of a path that need no encoding and mean nothing to the router. */
const plainPath = /^(?:\/[\w.~!$&',;=@-]+)*$/

/**
 * The public URL in its normal form: scheme and host in lower case, an internationalized host in ASCII, without a default port and trailing dots and
 * slashes. Everything that is derived from it, such as secure cookies, compares texts.
 */
export const serverUrl = text.transform((value, context) => {
  const url = URL.parse(value)
  const host = url?.host.replace(/\.(?=:|$)/, '') ?? ''
  const path = url?.pathname.replace(/\/+$/, '') ?? ''
  const isComplete = url && /^https?:$/.test(url.protocol) && /^(?:\[[\da-f:.]+\]|[\w-]+(?:\.[\w-]+)*)(?::\d+)?$/.test(host)
  if (isComplete && !url.username && !url.password && !url.search && !url.hash && plainPath.test(path))
    return `${url.protocol}//${host}${path}`
  context.addIssue('write the URL that clients use, such as https://pub.example.com')
  return z.NEVER
})

export const httpUrl = z.url({ protocol: /^https?$/, error: 'write an http(s) address' })
export const postgresUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'write postgres://user:password@host:5432/database' })

export const keyPrefix = z
  .string()
  .regex(/^[A-Za-z0-9._/-]*$/, 'write letters, digits, and . _ - /')
  .transform((prefix) => prefix.replace(/^\/+|\/+$/g, ''))
  .refine((prefix) => prefix === '' || prefix.split('/').every((part) => !/^\.{0,2}$/.test(part)), 'write names between single slashes')
  .transform((prefix) => (prefix === '' ? '' : `${prefix}/`))

export const internalPath = z
  .string()
  .regex(/^\/([A-Za-z0-9._-]+\/)+$/, 'write a path that begins and ends with a slash, such as /-/archives/')

export const hostedUrls = list.pipe(z.array(z.url({ protocol: /^https?$/, error: 'write http(s) addresses, separated by commas' })))

/** URL of a package server, without a trailing slash. */
export const upstreamUrl = text.transform((value, context) => {
  const url = URL.canParse(value) ? new URL(value) : null
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash) return value.replace(/\/+$/, '')
  context.addIssue('write the URL of a package server without a password, such as https://pub.dev')
  return z.NEVER
})

const isDecodable = (text: string): boolean => {
  try {
    return decodeURIComponent(text) !== ''
  } catch {
    return false
  }
}

/** URL of a forward proxy, which may contain credentials and no scheme, as for curl. The message omits the value, which may be secret. */
export const proxyUrl = text.transform((value, context) => {
  const url = URL.parse(value.includes('://') ? value : `http://${value}`)
  const hasPath = !url || url.pathname !== '/' || url.search !== '' || url.hash !== ''
  if (!hasPath && /^https?:$/.test(url.protocol) && [url.username, url.password].every((part) => part === '' || isDecodable(part)))
    return url.href
  context.addIssue(
    'write the URL of an HTTP proxy, such as http://proxy.example.com:3128 or http://user:password@proxy.example.com:3128, with % @ : / in user and password as %25 %40 %3A %2F',
  )
  return z.NEVER
})

const hostWithPort = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/
const isCidr = (entry: string) => z.union([z.cidrv4(), z.cidrv6()]).safeParse(entry.replace(/[[\]]/g, '')).success

/** Hosts that are contacted without a proxy: names, also with a leading `.` or `*.`, addresses and CIDR ranges, with an optional port, or `*`. */
export const proxyExceptions = z
  .string()
  .transform((value) =>
    value
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean),
  )
  .pipe(
    z.array(
      z
        .string()
        .refine(
          (entry) => entry === '*' || isIp(entry) || isCidr(entry) || hostWithPort.test(entry.replace(/^\*\./, '')),
          'write host names, IP addresses and CIDR ranges, each with an optional port, separated by commas, or *',
        ),
    ),
  )

/** Hosts with an optional port. */
export const hostList = z
  .string()
  .transform((value) =>
    value
      .toLowerCase()
      .split(/[\s,]+/)
      .filter(Boolean),
  )
  .pipe(
    z.array(
      z
        .string()
        .refine(
          (entry) => hostWithPort.test(entry) && URL.canParse(`http://${entry}`),
          'write hosts with an optional port, separated by commas, such as archives.example.com or 10.0.0.5:9000',
        ),
    ),
  )

/** A token for the header `Authorization: Bearer`. */
export const bearerToken = text.refine((token) => /^[\x21-\x7e]+$/.test(token), 'must consist of visible ASCII characters')

/** Patterns of package names. `*` stands for any characters. */
export const namePatterns = list.pipe(
  z.array(z.string().regex(/^[a-z0-9_*]{1,64}$/, 'write package names separated by commas, with * for any characters, such as acme_*')),
)
export const dnsServers = list.pipe(
  z.array(z.string().refine((server) => isIp(server.replace(/(?<=\.\d+|\]):\d+$/, '')), 'write IP addresses, separated by commas')),
)

export const proxyTrustForm = z.string().transform((value, context): boolean | string[] => {
  const flag = bool.safeParse(value)
  if (flag.success) return flag.data
  const ranges = list.parse(value)
  if (ranges.every((range) => z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()]).safeParse(range).success)) return ranges
  context.addIssue('write true, false, or address ranges such as 10.0.0.0/8, separated by commas')
  return z.NEVER
})

/** A bucket and a key prefix in it. */
export type BucketAddress = { bucket: string; prefix: string }

/** Parses `s3://bucket/prefix`. Returns null for a path. Throws RangeError, without the possibly secret value, for other URLs. */
export function readBucketAddress(text: string): BucketAddress | null {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(text) ?? []
  if (scheme === undefined && !/^s3:/i.test(text)) return null
  if (/^[^/]*@/.test(rest))
    throw new RangeError('must not contain credentials: set BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY')
  const [, bucket, path = ''] = /^([A-Za-z0-9][A-Za-z0-9._-]{1,62})(?:\/(.*))?$/.exec(rest) ?? []
  const prefix = keyPrefix.safeParse(path)
  if (scheme?.toLowerCase() !== 's3' || bucket === undefined || !prefix.success)
    throw new RangeError('write a folder, or s3://bucket/prefix with letters, digits, and . _ - /')
  return { bucket, prefix: prefix.data }
}

/** Backup destination: a folder, or a bucket with a key prefix. */
export const backupAddress = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .superRefine((value, context) => {
    try {
      readBucketAddress(value)
    } catch (error) {
      context.addIssue(error instanceof Error ? error.message : String(error))
    }
  })

/** A cron expression that has a next run. */
export const cronExpression = z.string().refine((expression) => {
  try {
    return nextRun(expression, new Date()) !== null
  } catch {
    return false
  }
}, 'write a cron expression with five fields and a future run, such as 0 3 * * * for every day at 03:00 UTC')

/** Returns the first run of a cron expression with five fields after a time, in UTC, or null. Throws if it is invalid. */
export const nextRun = (expression: string, after: Date): Date | null =>
  new Cron(expression, { mode: '5-part', timezone: 'UTC' }).nextRun(after)
