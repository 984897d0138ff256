import { execFile } from 'node:child_process'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import type { Services, State } from '../../services.ts'
import type { Config } from '../config/config.ts'
import type { ProxySettings } from '../outbound/proxy.ts'

const execute = promisify(execFile)

/** Isolation mechanisms that are available on this machine. */
export type Capabilities = {
  /** SCORING_SANDBOX, split into words; null if it is not set. */
  sandbox: string[] | null
  /** Whether the sandbox is bubblewrap, whose arguments are generated. */
  bubblewrap: boolean
  /** Whether jobs can run in their own namespaces (processes, mounts, network) without a sandbox. */
  namespaces: boolean
  /** Whether the server runs as root, so that each job can have its own account. */
  root: boolean
  /** Whether the programs that set limits are installed. */
  limits: boolean
}

/** What a job may access. Without a sandbox, only file permissions of its account enforce this. */
export type Permissions = {
  /** The job's folder and working directory, the only folder that it may write to. */
  folder: string
  /** Additional folders that the job may read, such as an SDK. */
  readable: string[]
  /** Network access: none, unrestricted, or only through the proxy at this socket, which allows a few servers. */
  network: boolean | { proxy: string }
}

/** PATH of jobs, independent of the server's own PATH. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

const works = (command: string, ...args: string[]) =>
  execute(command, args, { env: { PATH: systemPath }, timeout: 10_000 }).then(
    () => true,
    () => false,
  )

/** What decides how jobs run: the settings, and what was found out about the machine with them. */
export type SandboxServices = { config: Pick<Config, 'SCORING_SANDBOX' | 'DATA_DIR'> & ProxySettings } & Pick<Services, 'state'>

declare module '../../services.ts' {
  interface State {
    /** What jobs can use on this machine. `isTested`: whether a job has run in SCORING_SANDBOX. */
    sandbox?: { capabilities: Promise<Capabilities>; isTested: boolean }
  }
}

/** Returns how jobs can be isolated on this machine, detected once per server, and whether a job has run in the sandbox. */
export const sandboxState = ({ config, state }: SandboxServices): NonNullable<State['sandbox']> =>
  (state.sandbox ??= { capabilities: detect(config.SCORING_SANDBOX), isTested: false })

async function detect(setting = ''): Promise<Capabilities> {
  const root = process.getuid?.() === 0
  const user = root ? [] : ['--user', '--map-current-user']
  const apart = ['--pid', '--mount-proc', '--ipc', '--net', '--fork', '--kill-child', '--']
  const [namespaces, ...programs] = await Promise.all([
    works('unshare', ...user, ...apart, 'true'),
    works('prlimit', '--version'),
    works('setpriv', '--version'),
  ])
  const sandbox = setting === '' ? null : setting.split(/\s+/)
  return { sandbox, bubblewrap: basename(setting) === 'bwrap', namespaces, root, limits: !programs.includes(false) }
}

/** Thrown when this machine cannot run untrusted programs. The message contains the reason and the remedy. */
export class SandboxUnusable extends Error {
  override readonly name = 'SandboxUnusable'
}
