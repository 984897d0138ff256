import { lstatSync, readlinkSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { jobGroup } from './account.ts'
import { proxySocket } from './proxy.ts'
import type { Capabilities, Permissions } from './capabilities.ts'

/** Lowers the priority below that of requests and makes the kernel's OOM killer select the job first. */
const lowPriority = ['sh', '-c', `echo 500 2>/dev/null >/proc/self/oom_score_adj; ${excludeFirstCpu()} exec nice -n 10 "$@"`, 'sh']

/** Returns the command line of a job: sandbox, then limits, then the program. */
export function commandLine(capabilities: Capabilities, permissions: Permissions, account: number | null, limited: string[]): string[] {
  const asAccount = account === null ? limited : [...asAccountArgs(account, permissions.folder), ...limited]
  const { sandbox, bubblewrap } = capabilities
  if (sandbox === null)
    return [...lowPriority, ...withoutSandbox(capabilities, permissions), ...sealArgs(capabilities, permissions.folder), ...asAccount]
  if (!bubblewrap) return [...lowPriority, ...sandbox.map((word) => word.replaceAll('{folder}', permissions.folder)), ...asAccount]
  return [...lowPriority, ...sandbox, ...bubblewrapArgs(permissions, account !== null), '--', ...asAccount]
}

/** Returns a command prefix that changes the account. The program and its children cannot regain privileges. */
const asAccountArgs = (account: number, folder: string): string[] => {
  const ids = [`--reuid=${account}`, `--regid=${jobGroup}`, '--clear-groups']
  // Enter the folder after changing the account, because only the job's account may access it.
  return ['setpriv', ...ids, '--inh-caps=-all', '--no-new-privs', 'sh', '-c', 'cd "$0" && exec "$@"', folder]
}

/**
 * Returns a command prefix for running without a sandbox. The job is killed with the server. With namespaces, the job also sees no other processes,
 * its children are killed with it, and it has no network unless allowed. Its first process is a shell that reaps orphaned processes.
 */
function withoutSandbox({ namespaces, root }: Capabilities, { network }: Permissions): string[] {
  const dying = ['setpriv', '--pdeathsig=KILL', ...(root ? [] : ['--no-new-privs'])]
  if (!namespaces) return dying
  const apart = ['--pid', '--mount-proc', '--ipc', '--fork', '--kill-child', ...(network === false ? ['--net'] : [])]
  const first = ['sh', '-c', '"$@"; exit $?', 'sh']
  return [...dying, 'unshare', ...(root ? [] : ['--user', '--map-current-user']), ...apart, '--', ...first]
}

/** Folders that every account may write to. Files written there would outlive the job and bypass its limits. */
const publicFolders = ['/tmp', '/var/tmp', '/dev/shm', '/run/lock']

/** Returns a command prefix that makes public folders, except the job's own, read-only for a job of a server that runs as root. */
function sealArgs({ namespaces, root }: Capabilities, folder: string): string[] {
  if (!namespaces || !root) return []
  const seal = `for place in ${publicFolders.join(' ')}; do [ ! -d $place ] || { mount --rbind $place $place; mount -o remount,bind,ro $place; }; done`
  const open = 'mount --bind "$0" "$0"; mount -o remount,bind,rw "$0"'
  return ['sh', '-ec', `${seal}; ${open}; exec "$@"`, folder]
}

const settings = ['alternatives', 'ca-certificates', 'hosts', 'ld.so.cache', 'localtime', 'nsswitch.conf', 'pki', 'resolv.conf', 'ssl']

/** Returns the arguments of bubblewrap: system programs are readable, the job's folder is writable, and nothing else of the machine is visible. */
function bubblewrapArgs({ folder, readable, network }: Permissions, root: boolean): string[] {
  const apart = ['pid', 'ipc', 'uts', 'cgroup-try', ...(network === true ? [] : ['net'])].map((name) => `--unshare-${name}`)
  // Root needs no user namespace, and could not change the account inside one.
  const rights = root ? ['--cap-drop', 'ALL', '--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID'] : ['--unshare-user']
  const etc = settings.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`])
  const own = ['--proc', '/proc', '--dev', '/dev', '--dir', '/tmp']
  const programs = typeof network === 'object' ? [...readable, process.execPath] : readable
  const given = programs.flatMap((path) => [...parents(path), '--ro-bind', path, path])
  const proxy = typeof network === 'object' ? ['--dir', '/run', '--bind', network.proxy, proxySocket] : []
  // `/` and `/dev` are in-memory file systems without a size limit, so they become read-only.
  const sealed = ['--remount-ro', '/', '--remount-ro', '/dev']
  const start = root ? [] : ['--chdir', folder]
  const system = [...systemFolders(), '--dir', '/etc', ...etc]
  const job = [...parents(folder), '--bind', folder, folder]
  return [apart, rights, ['--die-with-parent', '--new-session'], system, own, given, proxy, job, sealed, start].flat()
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

/**
 * Returns a shell command that keeps the shell and its children off the first of this process's CPUs, because Linux may let a computation continue for
 * several milliseconds when a request arrives, regardless of its priority. Empty if there is only one CPU. Has no effect without `taskset`.
 */
export function excludeFirstCpu(): string {
  const others = withoutFirstCpu(allowedCpus())
  return others ? `taskset -cp ${others} $$ >/dev/null 2>&1;` : ''
}

/** Returns a Linux CPU list, such as `0-3,8`, without its first CPU. Returns null if no CPU is left or the list is invalid. */
export function withoutFirstCpu(list: string): string | null {
  const [, first, last, rest] = /^(\d+)(?:-(\d+))?(?:,([\d,-]+))?$/.exec(list) ?? []
  const next = Number(first) + 1
  const range = last === undefined ? null : next < Number(last) ? `${next}-${last}` : last
  return [range, rest].filter(Boolean).join(',') || null
}

function allowedCpus(): string {
  try {
    return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? ''
  } catch {
    return ''
  }
}

const MB = 1024 * 1024

/** Limits of a job by default, sufficient for the tools of an SDK on a large package. */
export const defaultLimits = {
  /** Wall-clock time in seconds. */
  seconds: 600,
  /** CPU time per process, in seconds. */
  cpuSeconds: 900,
  /** Data memory per process, and resident memory of all processes together. */
  memoryBytes: 2048 * MB,
  /** Maximum number of processes and threads. */
  processes: 512,
  /** Maximum size of a single file. */
  fileBytes: 512 * MB,
  /** Maximum size of the job's folder. */
  folderBytes: 2048 * MB,
  /** Maximum number of open files per process. */
  openFiles: 4096,
  /** Maximum output on stdout and stderr together. */
  outputBytes: 32 * MB,
}
export type Limits = typeof defaultLimits

/**
 * Returns a command prefix that sets the limits enforced by the kernel for each process. Memory is limited by RLIMIT_DATA, because Dart reserves far
 * more address space than it uses. `existing` is the number of existing processes and threads of the same user, because the kernel counts per user.
 */
export const prlimit = (limits: Limits, existing: number): string[] => [
  'prlimit',
  '--core=0',
  `--data=${limits.memoryBytes}`,
  `--cpu=${limits.cpuSeconds}`,
  `--fsize=${limits.fileBytes}`,
  `--nofile=${limits.openFiles}`,
  `--nproc=${limits.processes + existing}`,
]
