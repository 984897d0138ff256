import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { folderForTest, json, secretForTests, start } from '../support/server-process.ts'
import { smallVolume } from '../support/small-volume.ts'

/** Starts a server whose stdout is an open file, and collects its stderr. */
async function startInto(stdout: number, env: Record<string, string> = {}) {
  const port = String(await freePort())
  const url = `http://localhost:${port}`
  const settings = { SERVER_URL: url, JWT_SECRET: secretForTests, LISTEN_PORT: port, DATA_DIR: folderForTest(), SCORING_ENABLED: 'false' }
  const child = spawn(process.execPath, ['server/platform/launch/snug.mjs', 'start'], {
    env: { PATH: process.env.PATH, ...settings, ...env },
    stdio: ['ignore', stdout, 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const exit = once(child, 'exit').then(([code]) => code as number | null)
  await expect.poll(() => statusOf(url), { timeout: 20_000 }).toBe(200)
  return { process: child, url, stderr: () => stderr, exit }
}

const statusOf = (url: string) => json(`${url}/api/v1/health`).then(({ status }) => status, String)

/** Expects that requests succeed. Waits between them, so that the server has tried to log the previous one. */
async function expectServing(url: string): Promise<void> {
  for (let request = 0; request < 3; request++) {
    expect(await statusOf(url)).toBe(200)
    expect(await json(`${url}/api/packages/none`)).toMatchObject({ status: 403 })
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  expect(await statusOf(url)).toBe(200)
}

const complaint = /Cannot write the log to stdout \(.*\)\. The server continues and retries with each line\.\n/g

it('logs the settings that differ from their default, and ends the start with the setup code and the address', async () => {
  const server = await start(folderForTest(), { MIN_FREE_BYTES: '1' })
  const settings = server.log().match(/(?<= INFO )[A-Z_\d]+(?==)/g)
  expect(settings).toEqual(['SERVER_URL', 'JWT_SECRET', 'LISTEN_PORT', 'DATA_DIR', 'SCORING_ENABLED', 'MIN_FREE_BYTES', 'BCRYPT_COST'])
  expect(server.log()).toMatch(new RegExp(`\nSetup code: \\S+\nSnug is ready: ${server.url}\n$`))
})

it('logs all settings with LOG_LEVEL=debug', async () => {
  const server = await start(folderForTest(), { LOG_LEVEL: 'debug' })
  expect(server.log()).toContain(' INFO DRAIN_DELAY_MS=0\n')
})

it('keeps serving when the reader of its log closes the pipe, reports this once, and stops cleanly', async () => {
  const server = await start(folderForTest())
  server.process.stdout?.destroy()
  await expectServing(server.url)
  expect(server.log().match(complaint)).toEqual([expect.stringContaining('EPIPE')])
  server.process.kill('SIGTERM')
  await expect.poll(() => server.process.exitCode, { timeout: 10_000 }).toBe(0)
})

it('keeps serving when both stdout and stderr are closed', async () => {
  const server = await start(folderForTest())
  server.process.stdout?.destroy()
  server.process.stderr?.destroy()
  await expectServing(server.url)
  expect(server.process.exitCode).toBeNull()
})

it('starts and serves when no log line can be written', async () => {
  const server = await startInto(openSync('/dev/full', 'w'))
  await expectServing(server.url)
  expect(server.stderr().match(complaint)).toEqual([expect.stringContaining('ENOSPC')])
  server.process.kill('SIGTERM')
  expect(await server.exit).toBe(0)
})

it('resumes its log when a full disk has free space again', async () => {
  const volume = smallVolume(64)
  const [path, filler] = [join(volume, 'log'), join(volume, 'filler')]
  const server = await startInto(openSync(path, 'a'))
  writeFileSync(filler, '')
  expect(() => writeFileSync(filler, Buffer.alloc(100_000))).toThrow('ENOSPC')
  // The last block of the log file still has space, so the first lines are written.
  for (let request = 0; request < 60; request++) await json(`${server.url}/api/packages/none`)
  await expect.poll(() => server.stderr()).toContain('ENOSPC')
  await expectServing(server.url)
  rmSync(filler)
  truncateSync(path, 0)
  await json(`${server.url}/api/packages/after_free_space`)
  await expect.poll(() => readFileSync(path, 'utf8')).toContain('after_free_space')
  expect(server.stderr().match(complaint)).toHaveLength(1)
})
