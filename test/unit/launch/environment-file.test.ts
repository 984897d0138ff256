import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { root } from '../../support/sources.ts'

const script = pathToFileURL(join(root, 'server/platform/launch/environment.mjs')).href

/** Returns the `.env` file after a start with these environment variables, or null if none exists. */
function createEnvironmentFile(env: Record<string, string>, before?: string): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'snug-environment-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, '.env')
  if (before !== undefined) writeFileSync(path, before)
  const code = `const { makeEnvironmentFile } = await import('${script}'); makeEnvironmentFile()`
  execFileSync(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder, env: { PATH: process.env.PATH, ...env } })
  if (!existsSync(path)) return null
  if (before === undefined) expect(statSync(path).mode & 0o777).toBe(0o600)
  return readFileSync(path, 'utf8')
}

it('creates a file with the required settings and a random secret', () => {
  const made = createEnvironmentFile({})
  expect(made).toMatch(/^JWT_SECRET=[\w-]{48}\nSERVER_URL=http:\/\/localhost:8080\nLISTEN_PORT=8080\n$/)
  expect(createEnvironmentFile({})).not.toBe(made)
  expect(createEnvironmentFile({ LISTEN_PORT: '9000' })).toContain('SERVER_URL=http://localhost:9000\nLISTEN_PORT=9000\n')
})

it('omits settings that are set in the environment, directly or by file', () => {
  expect(createEnvironmentFile({ SERVER_URL: 'https://pub.example.com' })).toMatch(/^JWT_SECRET=[\w-]{48}\n$/)
  expect(createEnvironmentFile({ JWT_SECRET_FILE: '/run/secrets/jwt' })).toBe('SERVER_URL=http://localhost:8080\nLISTEN_PORT=8080\n')
  expect(createEnvironmentFile({ SERVER_URL: 'https://pub.example.com', JWT_SECRET: 'secret' })).toBe(null)
})

it('omits settings that an empty environment variable would override', () => {
  expect(createEnvironmentFile({ SERVER_URL: 'https://pub.example.com', JWT_SECRET: '' })).toBe(null)
  expect(createEnvironmentFile({ JWT_SECRET: '', JWT_SECRET_FILE: '' })).toBe('SERVER_URL=http://localhost:8080\nLISTEN_PORT=8080\n')
})

it('does not change an existing file', () => {
  expect(createEnvironmentFile({}, 'SERVER_URL=https://pub.example.com\n')).toBe('SERVER_URL=https://pub.example.com\n')
})

it('overrides the file by environment variables, set directly or by file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snug-environment-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(
    join(folder, '.env'),
    'METRICS_TOKEN_FILE=/run/token\nJWT_SECRET=here\nHOST=127.0.0.1\nS3_PREFIX="a b"\nPOSTGRES_URL_FILE=/run/url\n',
  )
  const env = { PATH: process.env.PATH, METRICS_TOKEN: 'there', JWT_SECRET_FILE: '/run/secret', HOST: '', POSTGRES_URL: '' }
  const code = `const { loadEnvironmentFile } = await import('${script}'); loadEnvironmentFile(); console.log(JSON.stringify(process.env))`
  const read = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder, env, encoding: 'utf8' }))
  expect(read).toMatchObject({ ...env, S3_PREFIX: 'a b', POSTGRES_URL_FILE: '/run/url' })
  for (const name of ['METRICS_TOKEN_FILE', 'JWT_SECRET']) expect(read).not.toHaveProperty(name)
})

it.each([
  ['UTF-8', (text: string) => Buffer.from(text)],
  ['UTF-8 with a mark', (text: string) => Buffer.from(`\ufeff${text}`)],
  ['UTF-16 LE', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
  ['UTF-16 BE', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
])('reads the file in %s', (_name, encode) => {
  const folder = mkdtempSync(join(tmpdir(), 'snug-environment-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, '.env'), encode('FIRST=ä\r\nSECOND="b c"\r\n'))
  const code = `const { loadEnvironmentFile } = await import('${script}'); loadEnvironmentFile(); console.log(JSON.stringify(process.env))`
  const options = { cwd: folder, env: { PATH: process.env.PATH }, encoding: 'utf8' } as const
  const read = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', code], options))
  expect(read).toMatchObject({ FIRST: 'ä', SECOND: 'b c' })
})

it('does not start if the account may not read the file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snug-environment-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  chmodSync(folder, 0o755)
  writeFileSync(join(folder, '.env'), 'SERVER_URL=https://pub.example.com\n', { mode: 0 })
  const code = `const { loadEnvironmentFile } = await import('${script}'); if (process.getuid() === 0) process.setuid(65534); loadEnvironmentFile()`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder, encoding: 'utf8' })
  expect(stderr).toBe(`Cannot read .env in ${folder} (EACCES). Make the server's account its owner (chown), or remove the file.\n`)
  expect(status).toBe(78)
})
