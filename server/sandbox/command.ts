import { lstatSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { leaveProcessor } from '../threads/processors.ts'
import { jobGroup } from './account.ts'
import { insideGate } from './gate.ts'
import type { Means } from './means.ts'

/** What a job may access. Without a sandbox, only file permissions of its account enforce this. */
export type Reach = {
  /** The job's folder and working directory, the only folder that it may write to. */
  folder: string
  /** Additional folders that the job may read, such as an SDK. */
  readable: string[]
  /** Network access: none, unrestricted, or only through the proxy at this socket, which allows a few servers. */
  network: boolean | { gate: string }
}

/** Lowers the priority below that of requests and makes the kernel's OOM killer select the job first. */
const lowPriority = ['sh', '-c', `echo 500 2>/dev/null >/proc/self/oom_score_adj; ${leaveProcessor()} exec nice -n 10 "$@"`, 'sh']

/** Returns the command line of a job: sandbox, then limits, then the program. */
export const commandLine = (means: Means, reach: Reach, account: number | null, limited: string[]): string[] => [
  ...lowPriority,
  ...sandboxArgs(means, reach, account, limited),
]

function sandboxArgs(means: Means, reach: Reach, account: number | null, limited: string[]): string[] {
  const asAccount = account === null ? limited : [...asAccountArgs(account, reach.folder), ...limited]
  if (means.sandbox === null) return [...withoutSandbox(means, reach), ...sealArgs(means, reach.folder), ...asAccount]
  if (!means.bubblewrap) return [...means.sandbox.map((word) => word.replaceAll('{folder}', reach.folder)), ...asAccount]
  return [...means.sandbox, ...bubblewrap(reach, account !== null), '--', ...asAccount]
}

/** Returns a command prefix that changes the account. The program and its children cannot regain privileges. */
const asAccountArgs = (account: number, folder: string): string[] => {
  const ids = [`--reuid=${account}`, `--regid=${jobGroup}`, '--clear-groups']
  // Enter the folder after changing the account, because only the job's account may access it.
  return ['setpriv', ...ids, '--inh-caps=-all', '--no-new-privs', 'sh', '-c', 'cd "$0" && exec "$@"', folder]
}

/**
 * Returns a command prefix for running without a sandbox. The job is killed with the server. If namespaces are available, the job also sees no other
 * processes, its children are killed with it, and it has no network unless allowed. Its first process is a shell that reaps orphaned processes.
 */
function withoutSandbox({ namespaces, root }: Means, { network }: Reach): string[] {
  const dying = ['setpriv', '--pdeathsig=KILL', ...(root ? [] : ['--no-new-privs'])]
  if (!namespaces) return dying
  const apart = ['--pid', '--mount-proc', '--ipc', '--fork', '--kill-child', ...(network === false ? ['--net'] : [])]
  const first = ['sh', '-c', '"$@"; exit $?', 'sh']
  return [...dying, 'unshare', ...(root ? [] : ['--user', '--map-current-user']), ...apart, '--', ...first]
}

/** Folders that every account may write to. Files written there would outlive the job and bypass its limits. */
const publicFolders = ['/tmp', '/var/tmp', '/dev/shm', '/run/lock']

/**
 * Returns a command prefix that makes public folders read-only for a job of a server that runs as root. The job's own folder stays writable, even if
 * it is inside one of them.
 */
function sealArgs({ namespaces, root }: Means, folder: string): string[] {
  if (!namespaces || !root) return []
  const seal = `for place in ${publicFolders.join(' ')}; do [ ! -d $place ] || { mount --rbind $place $place; mount -o remount,bind,ro $place; }; done`
  const open = 'mount --bind "$0" "$0"; mount -o remount,bind,rw "$0"'
  return ['sh', '-ec', `${seal}; ${open}; exec "$@"`, folder]
}

const settings = ['alternatives', 'ca-certificates', 'hosts', 'ld.so.cache', 'localtime', 'nsswitch.conf', 'pki', 'resolv.conf', 'ssl']

/** Returns the arguments of bubblewrap: system programs are readable, the job's folder is writable, and nothing else of the machine is visible. */
function bubblewrap({ folder, readable, network }: Reach, root: boolean): string[] {
  const apart = ['pid', 'ipc', 'uts', 'cgroup-try', ...(network === true ? [] : ['net'])].map((name) => `--unshare-${name}`)
  // Root needs no user namespace, and could not change the account inside one.
  const rights = root ? ['--cap-drop', 'ALL', '--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID'] : ['--unshare-user']
  const etc = settings.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`])
  const own = ['--proc', '/proc', '--dev', '/dev', '--dir', '/tmp']
  const given = readable.flatMap((path) => [...parents(path), '--ro-bind', path, path])
  const out =
    typeof network === 'object'
      ? [...parents(process.execPath), '--ro-bind', process.execPath, process.execPath, '--dir', '/run', '--bind', network.gate, insideGate]
      : []
  // Both are in memory and have no size limit.
  const sealed = ['--remount-ro', '/', '--remount-ro', '/dev']
  const start = root ? [] : ['--chdir', folder]
  const system = [...systemFolders(), '--dir', '/etc', ...etc]
  const living = ['--die-with-parent', '--new-session']
  return [
    ...apart,
    ...rights,
    ...living,
    ...system,
    ...own,
    ...given,
    ...out,
    ...parents(folder),
    '--bind',
    folder,
    folder,
    ...sealed,
    ...start,
  ]
}

/** Returns arguments that create the parent folders of a path with access for all accounts. */
const parents = (path: string): string[] => {
  const above = dirname(path)
  return above === '/' ? [] : [...parents(above), '--dir', above]
}

/** Returns arguments for the folders of system programs and libraries. On most systems, /bin and similar folders are links into /usr. */
function systemFolders(): string[] {
  return ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'].flatMap((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) return []
    return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
  })
}
