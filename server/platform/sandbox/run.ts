import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { proxyEnvironment } from '../outbound/proxy.ts'
import { findFreeAccount, allowTraversal, transferFolders } from './account.ts'
import { commandLine, type Limits, prlimit, defaultLimits } from './command.ts'
import { proxySocket, proxyPort, openProxy } from './proxy.ts'
import { makeJobFolder, removeFolder } from './job-folder.ts'
import { type Capabilities, type Permissions, type SandboxServices, sandboxState, SandboxUnusable, systemPath } from './capabilities.ts'
import { keepOutput, type Reason, watch } from './watch.ts'
import { countOfAccount, markOf } from './processes.ts'

/** A program to run in isolation. By default it has no network and reads no additional folders. */
export type Job = Pick<Permissions, 'folder'> &
  Partial<Pick<Permissions, 'readable'>> & {
    /** Whether the job may open connections, or the allowed origins. Without bubblewrap, a list of origins allows all connections. */
    network?: boolean | string[]
    command: string[]
    /** Environment variables in addition to HOME, TMPDIR and the system PATH. PATH is prepended to the system PATH. */
    env?: Record<string, string>
    limits?: Partial<Limits>
    /** Number of output lines to keep. Defaults to 200. */
    lines?: number
    /** Number of bytes of stdout to keep unchanged. If omitted, stdout is kept as lines. */
    stdoutBytes?: number
    onLine?: (line: string) => void
    signal?: AbortSignal
  }

export type Outcome = {
  /** `exited`, or the reason why the job was killed. */
  end: 'exited' | Reason
  /** Exit code; null if the job was killed by a signal, for example when it exceeded a kernel limit. */
  code: number | null
  lines: string[]
  stdout: Buffer
  usage: { ms: number; peakBytes: number }
}

type Settings = SandboxServices['config']

/**
 * Runs a program without the server's environment and within limits, and kills all processes that it started. A failing program is a regular outcome.
 * @throws SandboxUnusable if the limits cannot be enforced on this machine or SCORING_SANDBOX does not work.
 */
export async function run(services: SandboxServices, job: Job): Promise<Outcome> {
  const { capabilities, isTested } = sandboxState(services)
  const problem = isTested ? null : await sandboxProblem(services)
  if (problem !== null) throw new SandboxUnusable(problem)
  return runIsolated(services.config, await capabilities, job)
}

/** Returns why jobs cannot run on this machine and the remedy, or null if they can. */
export async function sandboxProblem(services: SandboxServices): Promise<string | null> {
  const { config } = services
  const sandbox = sandboxState(services)
  const capabilities = await sandbox.capabilities
  if (!capabilities.limits) return withoutLimits
  if (capabilities.sandbox === null) return null
  const folder = await makeJobFolder(config)
  try {
    const test: Job = { folder, command: ['true'], limits: { seconds: 20 }, network: [] }
    const { end, code, lines } = await runIsolated(config, capabilities, test)
    if (end !== 'exited' || code !== 0) return unusable(capabilities.sandbox, lines.at(-1) ?? `the test command ended with ${code ?? end}`)
    sandbox.isTested = true
    return null
  } catch (error) {
    return unusable(capabilities.sandbox, String(error))
  } finally {
    await removeFolder(folder)
  }
}

/** Returns a warning about what jobs can do without a sandbox, or null if a sandbox is configured. */
export async function sandboxWarning(services: SandboxServices): Promise<string | null> {
  const { sandbox, root, namespaces } = await sandboxState(services).capabilities
  if (sandbox !== null) return null
  if (root) return 'Jobs run under separate accounts, but with limits only. Malicious code in a package could open network connections.'
  const environment = namespaces ? '' : ", including the server's environment with its secrets"
  return `Jobs run with limits only. Malicious code in a package could read everything that the server can read${environment}. Install bubblewrap and set SCORING_SANDBOX=bwrap.`
}

const withoutLimits =
  'Jobs need the programs prlimit and setpriv to set their limits, which are not installed. Install util-linux. Systems other than Linux can only use the built-in engine.'

const unusable = ([program = '']: string[], said: string) =>
  `SCORING_SANDBOX is set, and it does not work: ${said}. Install ${program}, allow it to create user namespaces (sysctl user.max_user_namespaces; in a container, a seccomp profile that permits them and an unmasked /proc), or unset SCORING_SANDBOX to run jobs with limits only.`

async function runIsolated(config: Settings, capabilities: Capabilities, job: Job): Promise<Outcome> {
  const { network = false } = job
  if (network === false) return runWithin(config, capabilities, job, false)
  if (network === true || !capabilities.bubblewrap) {
    // Only trusted commands may open all connections. Others do not get the credentials of a proxy.
    const env = { ...job.env, ...proxyEnvironment(config, { withCredentials: network === true }) }
    return runWithin(config, capabilities, { ...job, env }, true)
  }
  const proxy = await openProxy(network, config)
  try {
    return await runWithin(config, capabilities, { ...job, ...throughProxy(job) }, { proxy: proxy.path })
  } finally {
    await proxy.close()
  }
}

/** Returns the command and environment that route a job's connections through the proxy. */
function throughProxy({ command, env }: Job): Pick<Job, 'command' | 'env'> {
  const proxy = `http://127.0.0.1:${proxyPort}`
  const proxies = { http_proxy: proxy, https_proxy: proxy, HTTP_PROXY: proxy, HTTPS_PROXY: proxy }
  const forwarder = readFileSync(join(import.meta.dirname, 'forward.mjs'), 'utf8')
  return {
    command: [process.execPath, '--input-type=module', '--eval', forwarder, proxySocket, String(proxyPort), ...command],
    env: { ...env, ...proxies },
  }
}

async function runWithin(config: Settings, capabilities: Capabilities, job: Job, network: Permissions['network']): Promise<Outcome> {
  const { folder, readable = [], signal } = job
  const permissions = { folder, readable, network }
  const limits = { ...defaultLimits, ...job.limits }
  const account = capabilities.root ? await findFreeAccount(folder) : null
  const scratch = join(folder, '.tmp')
  await mkdir(scratch, { recursive: true })
  if (account !== null) await transferFolders(permissions, account)
  if (account !== null && !capabilities.bubblewrap) await allowTraversal(permissions, config.DATA_DIR)
  const existing = account === null ? countOfAccount(process.getuid?.() ?? 0) : 0
  const { PATH: ownPath, ...given } = job.env ?? {}
  // Set the PATH inside the sandbox, so that it applies only to the job and not to the programs that isolate it.
  const command = ownPath === undefined ? job.command : ['env', `PATH=${ownPath}:${systemPath}`, ...job.command]
  const [program = '', ...args] = commandLine(capabilities, permissions, account, [...prlimit(limits, existing), ...command])
  // Processes cannot leave their own namespaces, so no marker is needed to find them.
  const contained = capabilities.bubblewrap || (capabilities.sandbox === null && capabilities.namespaces)
  const mark = contained ? null : markOf(folder)
  const env = { HOME: folder, TMPDIR: scratch, LANG: 'C.UTF-8', ...given, PATH: systemPath, SNUG_JOB: folder }
  try {
    if (signal?.aborted) return { end: 'aborted', code: null, lines: [], stdout: Buffer.alloc(0), usage: { ms: 0, peakBytes: 0 } }
    const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    return await follow(child, { job, limits, mark, account })
  } finally {
    await removeFolder(scratch)
  }
}

type Followed = { job: Job; limits: Limits; mark: string | null; account: number | null }

async function follow(child: ChildProcess, { job, limits, mark, account }: Followed): Promise<Outcome> {
  const started = performance.now()
  const first = child.pid
  if (first === undefined) throw await new Promise((resolve) => child.once('error', resolve))
  const output = keepOutput({ mostBytes: limits.outputBytes, lines: job.lines ?? 200, stdoutBytes: job.stdoutBytes }, job.onLine)
  const processes = { first, mark, known: [] }
  const watched = watch({ processes, limits, folder: job.folder, account, abort: job.signal })
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream]?.on('data', (chunk: Buffer) => {
      if (!output.take(stream, chunk)) watched.stop('output')
    })
  const closed = new Promise((resolve) => child.once('close', resolve))
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  const { reason, peakBytes } = await watched.close()
  // Read the remaining output. A process that could not be killed must not keep the pipes open.
  await Promise.race([closed, setTimeout(1000)])
  child.stdout?.destroy()
  child.stderr?.destroy()
  output.end()
  const usage = { ms: Math.round(performance.now() - started), peakBytes }
  return { end: reason ?? 'exited', code, lines: output.lines(), stdout: output.stdout(), usage }
}
