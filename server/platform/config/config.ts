import { readFileSync } from 'node:fs'
import { join, resolve, isAbsolute, relative } from 'node:path'
import type { z } from 'zod'
import { readBucketAddress } from './forms.ts'
import { conflictingOidcSettings, describeOidcProvider, type OidcSettings, readOidcProviders } from './oidc-variables.ts'
import { proxyVariables } from './service-variables.ts'
import { type VariableName, variables } from './variables.ts'

type Environment = Record<string, string | undefined>
type Derived = 'SQLITE_PATH' | 'BLOB_PATH' | 'DOCS_PATH'
type Values = { [Name in VariableName]: z.infer<(typeof variables)[Name]['schema']> }
/** Settings that may have no value. */
type Optional = {
  [Name in VariableName]: (typeof variables)[Name] extends { default: string } | { required: true } ? never : Name
}[VariableName]

/** The effective configuration by setting name. Paths are absolute; SERVER_URL has no trailing slash. */
export type Config = Omit<Values, Optional> &
  Partial<Pick<Values, Optional>> &
  Required<Pick<Values, Derived>> & { oidcProviders: readonly OidcSettings[] }

/** An invalid configuration. `problems` lists every error, one line each. */
export class ConfigError extends Error {
  readonly problems: string[]
  constructor(problems: string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** The environment of this process, including variables from `.env`. */
export const processEnvironment: Environment = process.env

/** Reads settings. `NAME_FILE` is the path of a file with the value of NAME. Throws ConfigError with all problems. */
export function readConfig(given: Environment = processEnvironment): Config {
  const environment = withLowerCaseNames(given)
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const name of Object.keys(variables) as VariableName[]) {
    const raw = rawValue(name, environment, problems)
    if (raw === undefined) continue
    const parsed = variables[name].schema.safeParse(raw)
    if (parsed.success) values[name] = parsed.data
    else problems.push(...parsed.error.issues.map((issue) => `${sourceOf(name, environment)}: ${issue.message}`))
  }
  values.oidcProviders = readOidcProviders(environment, (name) => textOf(name, environment, problems), problems)
  problems.push(...conflictingSettings(values), ...conflictingOidcSettings(values), ...misplacedBackups(values))
  if (problems.length) throw new ConfigError([...new Set(problems)])
  return withDerivedPaths(values as Config)
}

/** Copies the value of settings whose lower-case name takes precedence, such as `http_proxy`, to the usual name. */
function withLowerCaseNames(environment: Environment): Environment {
  const lower = Object.keys(proxyVariables).flatMap((name): [string, string][] => {
    const value = environment[name.toLowerCase()]
    return value ? [[name, value]] : []
  })
  return { ...environment, ...Object.fromEntries<string>(lower) }
}

/** Returns one line per setting that has a value. Secrets and passwords in URLs are masked. */
export function describeConfig(config: Config): string[] {
  const lines = (Object.keys(variables) as VariableName[]).flatMap((name) => {
    const value = config[name]
    if (value === undefined) return []
    const definition = variables[name]
    return [`${name}=${'secret' in definition ? mask : [value].flat().map(withoutPassword).join(',')}`]
  })
  return [...lines, ...config.oidcProviders.flatMap((provider) => describeOidcProvider(provider, mask))]
}

/** Returns the lines of `describeConfig` for settings that differ from their default. */
export function describeChanges(config: Config): string[] {
  const defaults = Object.entries(variables).flatMap(([name, variable]): [string, unknown][] =>
    'default' in variable ? [[name, variable.schema.parse(variable.default)]] : [],
  )
  const values = { ...Object.fromEntries(defaults), oidcProviders: [] as readonly OidcSettings[] } as Config
  const unchanged = { ...withDerivedPaths({ ...values, DATA_DIR: config.DATA_DIR }), DATA_DIR: resolve(values.DATA_DIR) }
  const hidden = new Set(describeConfig(unchanged))
  return describeConfig(config).filter((line) => !hidden.has(line))
}

const mask = '********'

/** Masks credentials in URLs. A user name without a password is masked too, because it may be a key. */
function withoutPassword(value: unknown): string {
  const text = String(value)
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || (url.username === '' && url.password === '')) return text
  if (url.password === '') url.username = mask
  else url.password = mask
  return url.href
}

/** Returns the source of a value for error messages: the variable, or the file that the value was read from. */
function sourceOf(name: VariableName, environment: Environment): string {
  const file = environment[name] ? '' : environment[`${name}_FILE`]
  return file ? `${name}_FILE (${file})` : name
}

function rawValue(name: VariableName, environment: Environment, problems: string[]): string | undefined {
  const definition = variables[name]
  const file = environment[`${name}_FILE`]
  const value = textOf(name, environment, problems)
  if (value !== undefined) return value
  if ('default' in definition) return definition.default
  if ('required' in definition && !(file && value === undefined)) problems.push(`${name}: is required. ${definition.about}`)
  return undefined
}

/** Returns the text of a setting, or of its file; undefined if neither is set. */
function textOf(name: string, environment: Environment, problems: string[]): string | undefined {
  const file = environment[`${name}_FILE`]
  // An error, because neither value has an obvious precedence.
  if (file && environment[name]) problems.push(`${name} and ${name}_FILE: both are set. Remove one of them.`)
  const value = file && !environment[name] ? fileValue(name, file, problems) : environment[name]
  return value === '' ? undefined : value
}

function fileValue(name: string, file: string, problems: string[]): string | undefined {
  try {
    const bytes = readFileSync(file)
    // The decoder removes byte order marks, which editors and PowerShell write.
    const encoding = { fffe: 'utf-16le', feff: 'utf-16be' }[bytes.toString('hex', 0, 2)] ?? 'utf-8'
    const value = new TextDecoder(encoding).decode(bytes).replace(/\r?\n$/, '')
    if (value !== '') return value
    // An empty METRICS_TOKEN, for example, would disable authentication.
    problems.push(`${name}_FILE: the file ${file} is empty`)
  } catch {
    problems.push(`${name}_FILE: the file ${file} cannot be read`)
  }
  return undefined
}

/** Whether agents of this version of Node support forward proxies. */
export function nodeKnowsProxies(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21)
}

/** S3's size limit for copying an object in one request. Archives are copied when they are published. */
const largestCopy = 5 * 1024 ** 3

function conflictingSettings(values: Record<string, unknown>): string[] {
  const problems: string[] = []
  if (values.JWT_SECRET_PREVIOUS !== undefined && values.JWT_SECRET_PREVIOUS === values.JWT_SECRET)
    problems.push('JWT_SECRET_PREVIOUS: must differ from JWT_SECRET; set it to the secret that JWT_SECRET replaced')
  if (typeof values.UPSTREAM_URL === 'string' && `${values.UPSTREAM_URL}/`.startsWith(`${String(values.SERVER_URL)}/`))
    problems.push('UPSTREAM_URL: must be another server than SERVER_URL')
  if (values.UPSTREAM_TOKEN !== undefined && values.UPSTREAM_URL === undefined)
    problems.push('UPSTREAM_TOKEN: only with UPSTREAM_URL, the server that it is sent to')
  const proxy = Object.keys(proxyVariables).find((name) => typeof values[name] === 'string')
  if (proxy !== undefined && !nodeKnowsProxies(process.versions.node))
    problems.push(`${proxy}: requires Node 22.21, or 24.5 or newer. This is Node ${process.versions.node}.`)
  if (values.DB_BACKEND === 'postgres' && !values.POSTGRES_URL) problems.push('POSTGRES_URL: is required with DB_BACKEND=postgres')
  if (values.METRICS_PORT !== 0 && values.METRICS_PORT !== undefined && values.METRICS_PORT === values.LISTEN_PORT)
    problems.push('METRICS_PORT: must differ from LISTEN_PORT; to serve metrics on LISTEN_PORT, set only METRICS_TOKEN')
  if (values.BLOB_BACKEND === 's3' && !values.S3_BUCKET) problems.push('S3_BUCKET: is required with BLOB_BACKEND=s3')
  if (values.BLOB_BACKEND === 's3' && values.ACCEL_REDIRECT_PREFIX)
    problems.push('ACCEL_REDIRECT_PREFIX: only with BLOB_BACKEND=filesystem')
  if (values.BLOB_BACKEND === 's3' && Boolean(values.S3_ACCESS_KEY_ID) !== Boolean(values.S3_SECRET_ACCESS_KEY))
    problems.push('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY: set both or neither')
  if (Boolean(values.BACKUP_S3_ACCESS_KEY_ID) !== Boolean(values.BACKUP_S3_SECRET_ACCESS_KEY))
    problems.push('BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY: set both or neither')
  if (values.BLOB_BACKEND === 's3' && typeof values.MAX_UPLOAD_BYTES === 'number' && values.MAX_UPLOAD_BYTES > largestCopy)
    problems.push(`MAX_UPLOAD_BYTES: at most ${largestCopy} with BLOB_BACKEND=s3`)
  return problems
}

/** Rejects a backup folder within a data folder, where garbage collection would delete the backups. */
function misplacedBackups(values: Partial<Config>): string[] {
  if (values.BACKUP_TO === undefined || readBucketAddress(values.BACKUP_TO) || values.DATA_DIR === undefined) return []
  const { BACKUP_TO = '', ...folders } = withDerivedPaths(values as Config)
  const holder = dataFolderAround(folders, BACKUP_TO)
  return holder === null ? [] : [`BACKUP_TO: ${BACKUP_TO} is in ${holder}. Choose a folder outside of the data.`]
}

function withDerivedPaths(values: Config): Config {
  const dataDir = resolve(values.DATA_DIR)
  const below = (path: string | undefined, name: string) => (path ? resolve(path) : join(dataDir, name))
  return {
    ...values,
    DATA_DIR: dataDir,
    SQLITE_PATH: below(values.SQLITE_PATH, 'registry.sqlite'),
    BLOB_PATH: below(values.BLOB_PATH, 'blobs'),
    DOCS_PATH: below(values.DOCS_PATH, 'docs'),
    ...(values.BACKUP_TO !== undefined && {
      BACKUP_TO: readBucketAddress(values.BACKUP_TO) ? values.BACKUP_TO : resolve(values.BACKUP_TO),
    }),
  }
}

type Folders = Record<'BLOB_PATH' | 'DOCS_PATH', string>

/** Returns the setting whose data folder contains a path, or null. The server owns these folders and may delete unknown files in them. */
export function dataFolderAround({ BLOB_PATH, DOCS_PATH }: Folders, path: string): string | null {
  const found = Object.entries({ BLOB_PATH, DOCS_PATH }).find(([, folder]) => isInFolder(folder, path))
  return found?.[0] ?? null
}

/** Whether a path is the folder itself or below it. */
export function isInFolder(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(/^\.\.(\/|$)/.test(way) || isAbsolute(way))
}
