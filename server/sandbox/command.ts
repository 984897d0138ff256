import { lstatSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { leaveProcessor } from '../threads/processors.ts'
import { jobGroup } from './account.ts'
import { insideGate } from './gate.ts'
import type { Means } from './means.ts'

/** What a job may touch. Without a sandbox only the account that it runs under holds this. */
export type Reach = {
  /** Its own folder, where it starts: all that it may write to. */
  folder: string
  /** Further folders that it may read, such as an SDK. */
  readable: string[]
  /** Whether it may open connections: none, any, or only through the gate at this path, which leads to a few servers. */
  network: boolean | { gate: string }
}

/** Requests come before jobs, and when memory runs out, the system ends a job first. */
const behind = ['sh', '-c', `echo 500 2>/dev/null >/proc/self/oom_score_adj; ${leaveProcessor()} exec nice -n 10 "$@"`, 'sh']

/** The command line of a job: what shuts it in, then the limits, then what it runs. */
export const commandLine = (means: Means, reach: Reach, account: number | null, limited: string[]): string[] => [
  ...behind,
  ...shutIn(means, reach, account, limited),
]

function shutIn(means: Means, reach: Reach, account: number | null, limited: string[]): string[] {
  const asAccount = account === null ? limited : [...becoming(account, reach.folder), ...limited]
  if (means.sandbox === null) return [...withoutSandbox(means, reach), ...sealing(means, reach.folder), ...asAccount]
  if (!means.bubblewrap) return [...means.sandbox.map((word) => word.replaceAll('{folder}', reach.folder)), ...asAccount]
  return [...means.sandbox, ...bubblewrap(reach, account !== null), '--', ...asAccount]
}

/** Sets the account of what follows; nothing that it starts gets more rights again. */
const becoming = (account: number, folder: string): string[] => {
  const ids = [`--reuid=${account}`, `--regid=${jobGroup}`, '--clear-groups']
  // Only this account may enter the folder.
  return ['setpriv', ...ids, '--inh-caps=-all', '--no-new-privs', 'sh', '-c', 'cd "$0" && exec "$@"', folder]
}

/**
 * Dies with the server. Where the system allows namespaces, it also sees no other processes, all that it starts ends with it, and it has no
 * network unless it is to have one. A shell is its first process: it collects what others leave behind.
 */
function withoutSandbox({ namespaces, root }: Means, { network }: Reach): string[] {
  const dying = ['setpriv', '--pdeathsig=KILL', ...(root ? [] : ['--no-new-privs'])]
  if (!namespaces) return dying
  const apart = ['--pid', '--mount-proc', '--ipc', '--fork', '--kill-child', ...(network === false ? ['--net'] : [])]
  const first = ['sh', '-c', '"$@"; exit $?', 'sh']
  return [...dying, 'unshare', ...(root ? [] : ['--user', '--map-current-user']), ...apart, '--', ...first]
}

/** Folders that every account may write to. Files left there would outlive the job, and its limits do not count them. */
const publicFolders = ['/tmp', '/var/tmp', '/dev/shm', '/run/lock']

/** Makes the public folders read-only for a job of a server that runs as root, apart from its own folder, which may be in one of them. */
function sealing({ namespaces, root }: Means, folder: string): string[] {
  if (!namespaces || !root) return []
  const seal = `for place in ${publicFolders.join(' ')}; do [ ! -d $place ] || { mount --rbind $place $place; mount -o remount,bind,ro $place; }; done`
  const open = 'mount --bind "$0" "$0"; mount -o remount,bind,rw "$0"'
  return ['sh', '-ec', `${seal}; ${open}; exec "$@"`, folder]
}

const settings = ['alternatives', 'ca-certificates', 'hosts', 'ld.so.cache', 'localtime', 'nsswitch.conf', 'pki', 'resolv.conf', 'ssl']

/** Arguments of bubblewrap: the system's programs to read, the job's folder to write, and nothing else of this machine. */
function bubblewrap({ folder, readable, network }: Reach, root: boolean): string[] {
  const apart = ['pid', 'ipc', 'uts', 'cgroup-try', ...(network === true ? [] : ['net'])].map((name) => `--unshare-${name}`)
  // Root needs no namespace of users, and could not change the account in one.
  const rights = root ? ['--cap-drop', 'ALL', '--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID'] : ['--unshare-user']
  const etc = settings.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`])
  const own = ['--proc', '/proc', '--dev', '/dev', '--dir', '/tmp']
  const given = readable.flatMap((path) => [...parents(path), '--ro-bind', path, path])
  const out =
    typeof network === 'object'
      ? [...parents(process.execPath), '--ro-bind', process.execPath, process.execPath, '--dir', '/run', '--bind', network.gate, insideGate]
      : []
  // Both are memory, which nothing else bounds.
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

/** The folders above one, for everybody to enter. */
const parents = (path: string): string[] => {
  const above = dirname(path)
  return above === '/' ? [] : [...parents(above), '--dir', above]
}

/** Where programs and libraries are; older names of /usr's folders are links to them on most systems. */
function systemFolders(): string[] {
  return ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'].flatMap((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) return []
    return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
  })
}
