import { readFileSync } from 'node:fs'

/**
 * Returns a shell command that excludes the first of this process's CPUs for the shell and its children, so that one CPU is free for requests.
 * Otherwise, Linux may let a computation continue for several milliseconds when a request arrives, regardless of its priority. Returns an empty
 * string if there is only one CPU. Has no effect if `taskset` is missing.
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
