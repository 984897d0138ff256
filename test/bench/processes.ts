import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Server process. `output` is the file that receives its stdout and stderr, as under a service manager. */
export type Server = { pid: number; url: string; output: string; child: ChildProcess }

/** Whether servers and load generator can be pinned to separate cores. */
export const hasTaskset = (() => {
  try {
    execFileSync('taskset', ['-V'], { stdio: 'ignore' })
    return availableParallelism() > 1
  } catch {
    return false
  }
})()

/** Description of the pinning, printed with the results. */
export const placement = hasTaskset
  ? 'servers on core 0, load on core 1'
  : 'servers and load share the cores: install taskset, or use a machine with two cores'

/** Returns a command that is pinned to a core, where the system supports this. */
export const pinned = (core: 0 | 1, command: string[]): [string, ...string[]] =>
  hasTaskset ? ['taskset', '-c', String(core), ...command] : (command as [string, ...string[]])

/**
 * Pins this process, when it generates the load, to a different core than the servers. Retries if a thread exits during the call, which makes it
 * fail.
 */
export function keepToLoadCore(attemptsLeft = 5): void {
  if (!hasTaskset) return
  const { status } = spawnSync('taskset', ['-a', '-cp', '1', String(process.pid)], { stdio: 'ignore' })
  if (status !== 0 && attemptsLeft > 0) keepToLoadCore(attemptsLeft - 1)
  else if (status !== 0) throw new Error('taskset could not keep the load to core 1.')
}

type Start = { command: string[]; url: string; folder: string; name: string; cwd?: string; env?: Record<string, string> }

/** Starts a server on core 0 and waits until `url` responds. */
export async function startServer({ command, url, folder, name, cwd, env }: Start): Promise<Server> {
  const output = join(folder, `${name}.log`)
  const file = openSync(output, 'w')
  const [program, ...args] = pinned(0, command)
  const child = spawn(program, args, { stdio: ['ignore', file, file], ...(cwd && { cwd }), env: { ...process.env, ...env } })
  closeSync(file)
  const server = { pid: child.pid ?? 0, url, output, child }
  await untilAnswers(server)
  return server
}

/** Stops a server and waits until it has exited. */
export async function stopServer({ child }: Server): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

/** Returns the CPU time of a process in microseconds. The kernel counts in units of 10 ms. */
export function cpuMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

/** Returns the resident memory of a process in MB of 1,048,576 bytes. */
export function residentMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

let lastPort = 20_000 + (process.pid % 10_000)
/** Returns a port number that is probably unused. */
export const nextPort = (): number => ++lastPort

async function untilAnswers({ url, child, output }: Server): Promise<void> {
  for (let attempt = 0; attempt < 2000; attempt++) {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(' ')} ended:\n${readFileSync(output, 'utf8')}`)
    const answer = await fetch(url).catch(() => null)
    await answer?.arrayBuffer()
    if (answer) return
    await sleep(10)
  }
  throw new Error(`${child.spawnargs.join(' ')} does not answer at ${url}`)
}
