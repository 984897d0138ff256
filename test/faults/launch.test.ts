import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { folderForTest, launch, secretForTests } from '../support/server-process.ts'
import { root } from '../support/sources.ts'

const launcherCommand = [process.execPath, 'server/launch.mjs', 'start']

/** Starts a server of this checkout. Returns the launcher and the process id of the server. */
async function startFromCheckout(port: number | string, command = launcherCommand) {
  const url = `http://localhost:${port}`
  const env = { PATH: process.env.PATH, SERVER_URL: url, JWT_SECRET: secretForTests, LISTEN_PORT: String(port), DATA_DIR: folderForTest() }
  const server = await launch(command, url, { env, cwd: root })
  const { pid } = server.process
  return { ...server, child: existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim() : '' }
}

it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('stops the server on %s', async (signal) => {
  const { process: launcher, child, exit, log, url } = await startFromCheckout(await freePort())
  expect(log()).toContain(`Snug is ready: ${url}`)
  launcher.kill(signal)
  expect(await exit).toBe(0)
  expect(log()).toContain(`${signal}: stopping`)
  expect(existsSync(`/proc/${child}`)).toBe(false)
})

it('stops the server when npm is stopped', async () => {
  const { process: npm, exit, log } = await startFromCheckout(await freePort(), ['npm', 'start'])
  npm.kill()
  await exit // of npm, and of the server, which shares its output
  expect(log()).toContain('SIGTERM: stopping')
})

it('starts the server with little memory for its heap and for other threads', async () => {
  const { process: launcher, child, exit } = await startFromCheckout(await freePort())
  const options = ['--max-semi-space-size=8', '--heap-growing-percent=50', '--v8-pool-size=1']
  expect(readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0')).toEqual(expect.arrayContaining(options))
  expect(readFileSync(`/proc/${child}/environ`, 'utf8').split('\0')).toContain('MALLOC_ARENA_MAX=1')
  launcher.kill()
  expect(await exit).toBe(0)
})

it('returns the exit code of a server that does not start', async () => {
  const { exit, log } = await startFromCheckout('none')
  expect(await exit).toBe(78)
  expect(log()).toContain('LISTEN_PORT')
})
