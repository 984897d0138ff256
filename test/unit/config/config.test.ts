import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { configTable } from '../../../server/platform/config/table.ts'
import { ConfigError, describeChanges, describeConfig, readConfig } from '../../../server/platform/config/config.ts'

const needed = { SERVER_URL: 'http://localhost:8080', JWT_SECRET: 'a secret for tests that is long enough' }

function problemsOf(environment: Record<string, string>): string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

it('requires only the server URL and the secret', () => {
  const config = readConfig(needed)
  expect(config).toMatchObject({
    LISTEN_PORT: 8080,
    DB_BACKEND: 'sqlite',
    SIGNUP_ENABLED: false,
    ENFORCE_RETRACTION_WINDOW: true,
    MAX_UPLOAD_BYTES: 104_857_600,
    BCRYPT_COST: 12,
    TRUST_PROXY: false,
  })
  expect(config.SQLITE_PATH).toBe(join(process.cwd(), 'data/registry.sqlite'))
  expect(config.BLOB_PATH).toBe(join(process.cwd(), 'data/blobs'))
})

it.each([
  ['HTTPS://Registry.Example:443/', 'https://registry.example'],
  ['Http://LOCALHOST:80', 'http://localhost'],
  ['https://pub.example.com:8443//', 'https://pub.example.com:8443'],
  ['https://pub.example.com./registry/', 'https://pub.example.com/registry'],
  ['https://pub.example.com.:8443', 'https://pub.example.com:8443'],
  ['https://bücher.example/Pub', 'https://xn--bcher-kva.example/Pub'],
  ['https://[2001:DB8::1]:443/', 'https://[2001:db8::1]'],
  ['https://pub.example.com/a/../b/./c', 'https://pub.example.com/b/c'],
  ['https:pub.example.com', 'https://pub.example.com'],
  ['https://pub.example.com/?', 'https://pub.example.com'],
  ['https://pub.example.com/#', 'https://pub.example.com'],
])('normalizes the server URL %s', (given, normal) => {
  expect(readConfig({ ...needed, SERVER_URL: given }).SERVER_URL).toBe(normal)
})

it.each([
  'https://user@pub.example.com',
  'https://user:password@pub.example.com',
  'https://:password@pub.example.com',
  'https://pub.example.com/?a=b',
  'https://pub.example.com/#a',
  'https://pub.example.com/a//b',
  'https://pub.example.com/a b',
  'https://pub.example.com/bücher',
  'https://pub.example.com/:name',
  'https://pub.example.com/*',
  'https://pub.example.com/a%2fb',
  'https://pub..example.com',
  'https://pub.example.com..',
  'https://pub.example.com:99999',
  'pub.example.com',
  '//pub.example.com',
  'ws://pub.example.com',
  'https://',
  'https://.',
])('refuses the server URL %s', (SERVER_URL) => {
  expect(problemsOf({ ...needed, SERVER_URL })).toEqual(['SERVER_URL: write the URL that clients use, such as https://pub.example.com'])
})

it('reports all problems at once', () => {
  const problems = problemsOf({
    SERVER_URL: 'ftp://x',
    JWT_SECRET: 'short',
    LISTEN_PORT: '70000',
    DB_BACKEND: 'oracle',
    SIGNUP_ENABLED: 'maybe',
    TRUST_PROXY: '10.0.0.0/99',
    BCRYPT_COST: '3',
  })
  for (const name of ['SERVER_URL', 'JWT_SECRET', 'LISTEN_PORT', 'DB_BACKEND', 'SIGNUP_ENABLED', 'TRUST_PROXY', 'BCRYPT_COST']) {
    expect(problems.filter((problem) => problem.startsWith(`${name}: `))).toHaveLength(1)
  }
  expect(problemsOf({})).toHaveLength(2)
  for (const path of ['-/archives/', '/-/archives', '/', '/a//b/', '/a b/'])
    expect(problemsOf({ ...needed, ACCEL_REDIRECT_PREFIX: path })).toEqual([expect.stringContaining('begins and ends with a slash')])
  expect(problemsOf({ ...needed, DB_BACKEND: 'postgres' })).toEqual(['POSTGRES_URL: is required with DB_BACKEND=postgres'])
  expect(
    problemsOf({
      ...needed,
      BLOB_BACKEND: 's3',
      S3_ACCESS_KEY_ID: 'half',
      S3_PREFIX: 'a/../b',
      MAX_UPLOAD_BYTES: '6000000000',
      ACCEL_REDIRECT_PREFIX: '/-/archives/',
    }),
  ).toEqual([
    'S3_PREFIX: write names between single slashes',
    'S3_BUCKET: is required with BLOB_BACKEND=s3',
    'ACCEL_REDIRECT_PREFIX: only with BLOB_BACKEND=filesystem',
    'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY: set both or neither',
    'MAX_UPLOAD_BYTES: at most 5368709120 with BLOB_BACKEND=s3',
  ])
})

it.each([
  ['SERVER_URL', 'https://pub.example.com/registry/', 'https://pub.example.com/registry'],
  ['S3_PREFIX', '/packages/snug', 'packages/snug/'],
  ['SIGNUP_ENABLED', 'TRUE', true],
  ['ENFORCE_RETRACTION_WINDOW', 'false', false],
  ['TRUST_PROXY', '10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
  ['ALLOWED_HOSTED_URLS', 'https://a.example, https://b.example/x', ['https://a.example', 'https://b.example/x']],
  ['DNS_SERVERS', '1.1.1.1:53,[::1]:53,::1', ['1.1.1.1:53', '[::1]:53', '::1']],
  ['BCRYPT_COST', '', 12],
  ['LOG_LEVEL', 'warn', 'warning'],
  ['LOG_LEVEL', 'INFO', 'info'],
  ['LOG_LEVEL', 'Warn', 'warning'],
  ['LOG_FORMAT', 'JSON', 'json'],
  ['DB_BACKEND', ' SQLite ', 'sqlite'],
  ['BACKUP_TO', '/srv/a/../backups', '/srv/backups'],
  ['BACKUP_TO', 's3://backups/of/snug/', 's3://backups/of/snug/'],
])('parses %s=%s', (name, given, read) => {
  expect(readConfig({ ...needed, [name]: given })).toMatchObject({ [name]: read })
})

it('reads a secret from a file, and reports an unreadable file', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'snug-config-')), 'secret')
  writeFileSync(file, `${'other '.repeat(6)}\n`)
  expect(readConfig({ SERVER_URL: needed.SERVER_URL, JWT_SECRET_FILE: file }).JWT_SECRET).toBe('other '.repeat(6))
  expect(problemsOf({ SERVER_URL: needed.SERVER_URL, JWT_SECRET_FILE: `${file}.not` })).toEqual([
    expect.stringMatching(/^JWT_SECRET_FILE: the file .* cannot be read$/),
  ])
})

it.each([
  ['UTF-8 with a mark', Buffer.from(`\ufeff${'sécret '.repeat(6)}\r\n`)],
  ['UTF-16 LE', Buffer.from(`\ufeff${'sécret '.repeat(6)}\r\n`, 'utf16le')],
  ['UTF-16 BE', Buffer.from(`\ufeff${'sécret '.repeat(6)}\n`, 'utf16le').swap16()],
])('reads a secret from a file in %s', (_name, content) => {
  const file = join(mkdtempSync(join(tmpdir(), 'snug-config-')), 'secret')
  writeFileSync(file, content)
  expect(readConfig({ SERVER_URL: needed.SERVER_URL, JWT_SECRET_FILE: file }).JWT_SECRET).toBe('sécret '.repeat(6))
})

it('rejects a variable that is also set by file, and names the file of an invalid value', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'snug-config-')), 'secret')
  writeFileSync(file, 'short\n')
  const both = ['METRICS_TOKEN and METRICS_TOKEN_FILE: both are set. Remove one of them.']
  expect(problemsOf({ ...needed, METRICS_TOKEN: 'x'.repeat(16), METRICS_TOKEN_FILE: file })).toEqual(both)
  expect(problemsOf({ ...needed, METRICS_TOKEN: '', METRICS_TOKEN_FILE: file })).toEqual([
    `METRICS_TOKEN_FILE (${file}): must be at least 16 characters long`,
  ])
  expect(problemsOf({ ...needed, METRICS_TOKEN: 'x'.repeat(16), METRICS_TOKEN_FILE: '' })).toEqual([])
})

it.each(['3', '16'])('rejects BCRYPT_COST=%s and reports the valid range', (cost) => {
  expect(problemsOf({ ...needed, BCRYPT_COST: cost })).toEqual(['BCRYPT_COST: must be 4 to 15'])
})

it.each(['', '\n', '\r\n', '\ufeff', '\ufeff\r\n'])('rejects an empty file (%j), so that no secret is omitted by mistake', (content) => {
  const file = join(mkdtempSync(join(tmpdir(), 'snug-config-')), 'secret')
  writeFileSync(file, content)
  for (const name of ['JWT_SECRET_FILE', 'METRICS_TOKEN_FILE'])
    expect(problemsOf({ ...needed, [name.replace('_FILE', '')]: '', [name]: file })).toEqual([`${name}: the file ${file} is empty`])
})

it('rejects a backup folder inside the data, together with all other problems', () => {
  const placed = { ...needed, DATA_DIR: '/srv/data', BLOB_PATH: '/srv/archives' }
  for (const [place, holder] of [
    ['/srv/archives', 'BLOB_PATH'],
    ['/srv/archives/../archives/backups', 'BLOB_PATH'],
    ['/srv/data/docs/backups', 'DOCS_PATH'],
  ])
    expect(problemsOf({ ...placed, LOG_LEVEL: 'loud', BACKUP_TO: place ?? '' })).toEqual([
      expect.stringMatching(/^LOG_LEVEL: /),
      expect.stringMatching(new RegExp(`^BACKUP_TO: /srv\\S* is in ${holder}\\. Choose a folder outside of the data\\.$`)),
    ])
  for (const place of ['/srv/archives-backups', '/srv/..backups', '/srv/data/backups', 's3://archives/x'])
    expect(problemsOf({ ...placed, BACKUP_TO: place })).toEqual([])
})

it('requires both parts of the S3 credentials for backups', () => {
  const problem = 'BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY: set both or neither'
  expect(problemsOf({ ...needed, BACKUP_S3_ACCESS_KEY_ID: 'half' })).toEqual([problem])
})

it.each(['daily', '* * * * * *', '60 3 * * *', '0 0 30 2 *', '0 3 * *'])('rejects the schedule %s', (expression) => {
  expect(problemsOf({ ...needed, BACKUP_SCHEDULE: expression })).toEqual([
    expect.stringMatching(/^BACKUP_SCHEDULE: write a cron expression with five fields and a future run/),
  ])
})

it.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318', /^write an http\(s\) address/],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://user:key@collector.example', /^write credentials into OTEL_EXPORTER_OTLP_HEADERS/],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', /^write one of http\/protobuf, http\/json/],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote', /^write one of always_on/],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5', /^at most 1/],
])('rejects %s=%s', (name, given, problem) => {
  const problems = problemsOf({ ...needed, [name]: given })
  expect(problems).toHaveLength(1)
  expect(problems[0]?.replace(`${name}: `, '')).toMatch(problem)
})

it('describes the settings that differ from their default', () => {
  const linesFor = (environment: Record<string, string>) => describeChanges(readConfig({ ...needed, ...environment }))
  const required = ['SERVER_URL=http://localhost:8080', 'JWT_SECRET=********']
  expect(linesFor({})).toEqual(required)
  expect(linesFor({ LISTEN_PORT: '8080', DATA_DIR: 'data', BLOB_PATH: 'data/blobs', DNS_SERVERS: '' })).toEqual(required)
  expect(linesFor({ DATA_DIR: '/srv/snug', DOCS_PATH: '/srv/docs', METRICS_TOKEN: 'hidden hidden hidden', S3_BUCKET: 'b' })).toEqual([
    ...required,
    'METRICS_TOKEN=********',
    'DATA_DIR=/srv/snug',
    'S3_BUCKET=b',
    'DOCS_PATH=/srv/docs',
  ])
})

it('masks secrets in the log', () => {
  const lines = describeConfig(
    readConfig({
      ...needed,
      DB_BACKEND: 'postgres',
      POSTGRES_URL: 'postgres://u:hidden@db/x',
      S3_SECRET_ACCESS_KEY: 'hidden',
      OTEL_EXPORTER_OTLP_HEADERS: 'key=hidden',
    }),
  )
  expect(lines).toContain('JWT_SECRET=********')
  expect(lines).toContain('SERVER_URL=http://localhost:8080')
  expect(lines.join('\n')).not.toContain('hidden')
})

it('masks credentials of URLs in the log', () => {
  const names = ['SDK_PUB_HOSTED_URL', 'SDK_ARCHIVE_URL', 'FLUTTER_ARCHIVE_URL', 'S3_ENDPOINT', 'S3_PUBLIC_ENDPOINT', 'BACKUP_S3_ENDPOINT']
  const lines = describeConfig(
    readConfig({
      ...needed,
      ...Object.fromEntries(names.map((name) => [name, 'https://user:hid%40den@mirror.example/x'])),
      ALLOWED_HOSTED_URLS: 'https://a.example, https://hidden@b.example/y',
      SCORING_SANDBOX: 'run --as user:{folder} -- ',
    }),
  )
  for (const name of names) expect(lines).toContain(`${name}=https://user:********@mirror.example/x`)
  expect(lines).toContain('ALLOWED_HOSTED_URLS=https://a.example,https://********@b.example/y')
  expect(lines).toContain('SCORING_SANDBOX=run --as user:{folder} --')
  expect(lines.join('\n')).not.toMatch(/hid(%40)?den/)
})

it('rejects a blank data folder, also if backups are configured', () => {
  expect(() => readConfig({ ...needed, DATA_DIR: '  ', BACKUP_TO: '/backups' })).toThrow(ConfigError)
  expect(() => readConfig({ ...needed, DATA_DIR: '  ', BACKUP_TO: '/backups' })).toThrow(/DATA_DIR: /)
})

it('matches the settings table of the help page', () => {
  expect(readFileSync('web/help/configuration.md', 'utf8')).toContain(`<!-- configuration -->\n${configTable()}<!-- /configuration -->`)
})
