import { execFile } from 'node:child_process'
import { basename } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** What this machine has to shut a job in with. */
export type Means = {
  /** SCORING_SANDBOX, word by word; null without one. */
  sandbox: string[] | null
  /** Whether that is bubblewrap, which gets its arguments from us. */
  bubblewrap: boolean
  /** Whether jobs can have processes, mounts and networks of their own without a sandbox. */
  namespaces: boolean
  /** Whether the server may give each job an account of its own. */
  root: boolean
  /** Whether the programs are there that set limits. */
  limits: boolean
}

/** Where the system's programs are; the server's own PATH is nobody's business. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

const works = (command: string, ...args: string[]) =>
  execute(command, args, { env: { PATH: systemPath }, timeout: 10_000 }).then(
    () => true,
    () => false,
  )

const found = new Map<string, Promise<Means>>()

/** Looks at the machine, once for each setting. */
export function findMeans(setting = ''): Promise<Means> {
  const known = found.get(setting) ?? lookAround(setting)
  found.set(setting, known)
  return known
}

async function lookAround(setting: string): Promise<Means> {
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
