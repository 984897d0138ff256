import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { openPage, screenshot, settled } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { folderForTest, secretForTests, start } from '../support/server-process.ts'

/** Runs the demo with these settings. Returns its exit code and output. */
async function runDemo(env: Record<string, string>): Promise<{ code: number | null; out: string; errors: string }> {
  const child = spawn(process.execPath, ['server/platform/launch/snug.mjs', 'demo'], { env: { PATH: process.env.PATH, ...env } })
  const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number | null, out, errors }
}

it('fills an empty server with packages of a year, and refuses a server that is not empty', async () => {
  const port = String(await freePort())
  const url = `http://localhost:${port}`
  const env = { DATA_DIR: folderForTest(), SERVER_URL: url, LISTEN_PORT: port, JWT_SECRET: secretForTests, BCRYPT_COST: '10' }
  const { code, out, errors } = await runDemo(env)
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const [, email = '', password = ''] = /as (\S+) with the password (\S+)/.exec(out) ?? []
  const again = await runDemo(env)
  expect(again.code).toBe(1)
  expect(again.errors).toMatch(/^The server in .+ is not empty\. Set DATA_DIR to a new folder for the demo\.\n$/)

  await start(env.DATA_DIR, env)
  const page = await openPage(url)
  const { status } = await page.request
    .post(`${url}/api/auth/login`, { data: { email, password } })
    .then((answer) => ({ status: answer.status() }))
  expect(status).toBe(200)
  await page.goto('/packages?sort=downloads')
  await page.getByRole('heading', { name: 'harbor_core' }).waitFor()
  await settled(page)
  await screenshot(page, 'demo-packages')
  const query = `{
    packages(first: 100) { totalCount nodes { name downloads { last30Days } versions(first: 1) { totalCount } } }
    publishers(first: 100) { totalCount } users(first: 100) { totalCount } advisories(first: 10) { totalCount }
  }`
  const { data } = (await (await page.request.post(`${url}/graphql`, { data: { query } })).json()) as { data: Filled }
  expect(data).toMatchObject({ publishers: { totalCount: 5 }, users: { totalCount: 12 }, advisories: { totalCount: 3 } })
  expect(data.packages.totalCount).toBe(59) // one of the 60 is unlisted
  expect(data.packages.nodes.reduce((sum, { versions }) => sum + versions.totalCount, 0)).toBeGreaterThan(300)
  expect(data.packages.nodes.filter(({ downloads }) => downloads.last30Days === 0)).toEqual([])
}, 600_000)

type Counted = { totalCount: number }
type Filled = Record<'publishers' | 'users' | 'advisories', Counted> & {
  packages: Counted & { nodes: { name: string; downloads: { last30Days: number }; versions: Counted }[] }
}
