import { expect, it, onTestFinished } from 'vitest'
import { createDatabase } from '../support/postgres.ts'
import { freePort } from '../support/free-port.ts'
import { folderForTest, json, ownersToken, secretForTests, start } from '../support/server-process.ts'

const otherSecret = 'another secret for tests that is long enough'

it('refuses a second instance with another secret, and starts one with new settings after the first was killed', async () => {
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  const folder = folderForTest()
  const shared = { DB_BACKEND: 'postgres', POSTGRES_URL: url, SERVER_URL: 'http://packages.example.com' }
  const launch = async (more: Record<string, string> = {}) => start(folder, { ...shared, LISTEN_PORT: String(await freePort()), ...more })
  const first = await launch()
  const authorization = `Bearer ${await ownersToken(first)}`

  const refused = await launch({ JWT_SECRET: otherSecret })
  expect(await refused.exit).toBe(78)
  expect(refused.log()).toMatch(/ERROR JWT_SECRET: differs from the one on another running instance with this database\./)
  expect(refused.log()).toMatch(/ERROR The server cannot start: .* counts as running for 30 seconds\./)
  for (const secret of [secretForTests, otherSecret]) expect(refused.log()).not.toContain(secret)

  const rotating = await launch({ JWT_SECRET: otherSecret, JWT_SECRET_PREVIOUS: secretForTests })
  expect(await json(`${rotating.url}/api/auth/me`, undefined, { authorization })).toMatchObject({ status: 200 })
  for (const { process, exit } of [first, rotating]) {
    process.kill('SIGKILL')
    await exit
  }

  const changed = await launch({ JWT_SECRET: 'a third secret for tests, which is long enough', SERVER_URL: 'http://moved.example.com' })
  expect(changed.log()).toContain('Snug is ready: http://moved.example.com')
})
