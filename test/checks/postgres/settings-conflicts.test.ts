import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { type Config, ConfigError } from '../../../server/platform/config/config.ts'
import { otherServers } from '../../../server/platform/db/open/servers.ts'
import { readSettingIn } from '../../../server/platform/settings/service.ts'
import { z } from 'zod'
import { type TestApp, testApp } from '../../app.ts'

const [oldKey, newKey] = ['a secret for tests that is long enough', 'another secret for tests, long enough too']
const startAnother = (app: TestApp, config: Partial<Config>) => testApp({ sameDatabaseAs: app, config })

/** Returns the error that another instance with these settings fails to start with, or "none". */
async function refusalOf(app: TestApp, config: Partial<Config>): Promise<string> {
  const error = await startAnother(app, config).then(
    async (started) => (await started[Symbol.asyncDispose](), null),
    (thrown: unknown) => thrown,
  )
  if (error === null) return 'none'
  expect(error).toBeInstanceOf(ConfigError)
  return (error as ConfigError).message
}

const record = async ({ services }: TestApp) =>
  Object.values(await readSettingIn(services.database.fork(), { key: 'instances', schema: z.record(z.string(), z.unknown()), initial: {} }))

it('refuses to start with another JWT_SECRET, SERVER_URL or archive store, and changes nothing', async () => {
  await using app = await testApp({ alone: true })
  const BLOB_PATH = join(app.config.DATA_DIR, 'others')
  const addresses = () => app.services.database.reads.all('select address from server_addresses')
  const before = [await record(app), await addresses()]
  expect(await refusalOf(app, { JWT_SECRET: newKey })).toMatch(
    /^JWT_SECRET: differs from the one on another running instance.*INSTANCES_MAY_DIFFER/s,
  )
  expect(await refusalOf(app, { SERVER_URL: 'https://other.example.com' })).toMatch(
    /^SERVER_URL: is https:\/\/other\.example\.com here, but http:\/\/localhost:8080 on another/,
  )
  expect(await refusalOf(app, { BLOB_PATH, JWT_SECRET: newKey, SERVER_URL: 'https://other.example.com' })).toMatch(
    /others is not the archive store of the running instances/,
  )
  expect([await record(app), await addresses()]).toEqual(before)
  const stored = JSON.stringify(before)
  for (const secret of [oldKey, Buffer.from(oldKey).toString('base64'), Buffer.from(oldKey).toString('hex')])
    expect(stored).not.toContain(secret)
})

it('compares stores by location, not by their identity marker', async () => {
  await using app = await testApp({ alone: true })
  const BLOB_PATH = join(app.config.DATA_DIR, 'copy')
  await mkdir(BLOB_PATH)
  const { cp } = await import('node:fs/promises')
  await cp(app.config.BLOB_PATH, BLOB_PATH, { recursive: true })
  expect(await refusalOf(app, { BLOB_PATH })).toMatch(/^The archive store is \S*copy here, but \S*blobs on another running instance/)
})

it('runs instances with the same settings, and with different ones where INSTANCES_MAY_DIFFER allows it, with a warning', async () => {
  await using app = await testApp({ alone: true })
  await using same = await startAnother(app, { LISTEN_PORT: 1 })
  expect(same.lines.filter((line) => line.includes('another instance'))).toEqual([])
  const SERVER_URL = 'https://other.example.com'
  await using other = await startAnother(app, { SERVER_URL, INSTANCES_MAY_DIFFER: true })
  expect(other.lines.join('')).toMatch(/WARNING SERVER_URL: is https:\/\/other\.example\.com here, but http:\/\/localhost:8080 on another/)
  expect(await record(app)).toHaveLength(3)
  // The running instances now differ, so every new instance differs from one of them.
  expect(await refusalOf(app, {})).toMatch(/^SERVER_URL: is http:\/\/localhost:8080 here, but https:\/\/other\.example\.com on another/)
})

it('accepts the previous key of other instances in each step of a key rotation', async () => {
  await using app = await testApp({ alone: true })
  await using replaced = await startAnother(app, { JWT_SECRET: newKey, JWT_SECRET_PREVIOUS: oldKey })
  expect(await refusalOf(app, {})).toBe('none') // Rolling back is possible.
  await app.stop()
  expect(await refusalOf(replaced, { JWT_SECRET: newKey, JWT_SECRET_PREVIOUS: undefined })).toBe('none')
  const third = 'a third secret for tests, which is long enough'
  expect(await refusalOf(replaced, { JWT_SECRET: third, JWT_SECRET_PREVIOUS: oldKey })).toMatch(/^JWT_SECRET: /)
  expect(await refusalOf(replaced, { JWT_SECRET: third, JWT_SECRET_PREVIOUS: newKey })).toBe('none')
})

it('starts with other settings once other instances have stopped, and removes their records', async () => {
  await using app = await testApp({ alone: true })
  await app.stop()
  await using after = await startAnother(app, { JWT_SECRET: newKey, SERVER_URL: 'https://other.example.com' })
  expect(await record(after)).toMatchObject([{ address: 'https://other.example.com' }])
})

it('ignores a server that has not renewed its presence recently', async () => {
  await using app = await testApp({ alone: true })
  const lost = new pg.Client({ connectionString: app.config.POSTGRES_URL, application_name: 'snug deadbeef watch' })
  await lost.connect()
  onTestFinished(() => lost.end().catch(() => {}))
  const em = app.services.database.fork()
  const names = async (silentMs?: number) => (await otherServers(em, silentMs)).map(({ name }) => name)
  expect(await names()).toEqual(['snug deadbeef'])
  await expect.poll(() => names(1)).toEqual([])
  await lost.end()
  await expect.poll(() => names()).toEqual([])
})
