import { readFileSync } from 'node:fs'

/**
 * A shell command that keeps the shell, and what it then becomes, off the first of this process's processors, so that one is free for requests:
 * when a request arrives, Linux may let what computes go on for some milliseconds, whatever its priority. Empty where there is only one, and
 * without effect where `taskset` is missing.
 */
export function leaveProcessor(): string {
  const others = otherProcessors(permittedProcessors())
  return others ? `taskset -cp ${others} $$ >/dev/null 2>&1;` : ''
}

/** A list of processors as Linux writes it, such as `0-3,8`, without its first; null when nothing is left, or it is no such list. */
export function otherProcessors(list: string): string | null {
  const [, first, last, rest] = /^(\d+)(?:-(\d+))?(?:,([\d,-]+))?$/.exec(list) ?? []
  const next = Number(first) + 1
  const range = last === undefined ? null : next < Number(last) ? `${next}-${last}` : last
  return [range, rest].filter(Boolean).join(',') || null
}

function permittedProcessors(): string {
  try {
    return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? ''
  } catch {
    return ''
  }
}
