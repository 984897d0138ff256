import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { folderForTest, launch, secretForTests } from '../support/server-process.ts'
import { root } from '../support/sources.ts'

const launcherCommand = [process.execPath, 'server/launch.mjs', 'start']
/** The same in a version of Node that cannot replace a process. */
const olderCommand = [process.execPath, '--import', 'data:text/javascript,delete process.execve', 'server/launch.mjs', 'start']

/** Starts a server of this checkout. Returns the process, and the process ids of its children. */
async function startFromCheckout(
  port: number | string,
  command = launcherCommand,
  { detached = false, env: more = {} }: { detached?: boolean; env?: Record<string, string> } = {},
) {
  const url = `http://localhost:${port}`
  const settings = { SERVER_URL: url, JWT_SECRET: secretForTests, LISTEN_PORT: String(port), DATA_DIR: folderForTest() }
  const server = await launch(command, url, { env: { PATH: process.env.PATH, ...settings, ...more }, cwd: root, detached })
  const { pid } = server.process
  return { ...server, child: existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim() : '' }
}

it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('stops the server on %s', async (signal) => {
  for (const command of [launcherCommand, olderCommand]) {
    const { process: launcher, child, exit, log, url } = await startFromCheckout(await freePort(), command)
    expect(log()).toContain(`Snug is ready: ${url}`)
    expect(child).toMatch(command === olderCommand ? /^\d+$/ : /^$/)
    launcher.kill(signal)
    expect(await exit).toBe(0)
    expect(log()).toContain(`${signal}: stopping`)
    expect(isRunning(Number(child || launcher.pid))).toBe(false)
  }
})

/** Returns the ids of a process and of all processes that it started. */
function processTree(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  return [pid, ...children.flatMap((child) => processTree(Number(child)))]
}

const isRunning = (pid: number) => existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))

/** Starts `npm start` in its own process group, as a supervisor does. The server takes a while to stop. */
async function startWithNpm() {
  const server = await startFromCheckout(await freePort(), ['npm', 'start'], { detached: true, env: { DRAIN_DELAY_MS: '1500' } })
  const npm = server.process.pid ?? 0
  const ended = once(server.process, 'exit').then(([code, signal]) => ({ code: code as number | null, signal: signal as string | null }))
  const started = processTree(npm).slice(1)
  expect(started.length).toBeGreaterThan(0)
  onTestFinished(() => started.filter(isRunning).forEach((pid) => process.kill(pid, 'SIGKILL')))
  return { ...server, npm, started, ended }
}

it.each([
  ['SIGTERM', 'npm alone'],
  ['SIGTERM', 'the process group'],
  ['SIGINT', 'npm alone'],
  ['SIGINT', 'the process group'],
] as const)('ends npm with the exit code of the server, after the server has ended, on %s to %s', async (signal, receiver) => {
  const { npm, started, ended, exit, log } = await startWithNpm()
  process.kill(receiver === 'npm alone' ? npm : -npm, signal)
  expect(await ended).toEqual({ code: 0, signal: null })
  expect(started.filter(isRunning)).toEqual([])
  await exit
  expect(log()).toContain(`${signal}: stopping`)
})

it.each(['npm alone', 'the process group'])('stops the server on SIGHUP to %s, although npm ends at once', async (receiver) => {
  const { npm, started, exit, log } = await startWithNpm()
  process.kill(receiver === 'npm alone' ? npm : -npm, 'SIGHUP')
  await exit // of npm, and of the server, which shares its output
  await expect.poll(() => started.filter(isRunning)).toEqual([])
  expect(log()).toMatch(/SIG(HUP|TERM): stopping/)
})

it('stops the server when npm is killed', async () => {
  const { npm, started, exit, log } = await startWithNpm()
  process.kill(npm, 'SIGKILL')
  await exit
  await expect.poll(() => started.filter(isRunning)).toEqual([])
  expect(log()).toContain('SIGTERM: stopping')
})

it('ends npm with the exit code of a server that fails, and with the signal of one that is killed', async () => {
  const invalid = await startFromCheckout('none', ['npm', 'start'])
  expect(await invalid.exit).toBe(78)
  const { started, ended } = await startWithNpm()
  process.kill(started.at(-1) ?? 0, 'SIGKILL')
  expect(await ended).toEqual({ code: null, signal: 'SIGKILL' })
})

it('starts the server with little memory for its heap and for other threads', async () => {
  const options = ['--max-semi-space-size=8', '--heap-growing-percent=50', '--v8-pool-size=1']
  for (const command of [launcherCommand, olderCommand]) {
    const { process: launcher, child, exit } = await startFromCheckout(await freePort(), command)
    const server = child || launcher.pid
    expect(readFileSync(`/proc/${server}/cmdline`, 'utf8').split('\0')).toEqual(expect.arrayContaining(options))
    expect(readFileSync(`/proc/${server}/environ`, 'utf8').split('\0')).toContain('MALLOC_ARENA_MAX=1')
    launcher.kill()
    expect(await exit).toBe(0)
  }
})

it('returns the exit code of a server that does not start', async () => {
  const { exit, log } = await startFromCheckout('none')
  expect(await exit).toBe(78)
  expect(log()).toContain('LISTEN_PORT')
})
