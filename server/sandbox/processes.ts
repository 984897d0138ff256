import { readdirSync, readFileSync } from 'node:fs'

/** A process, as far as /proc shows it to the server. `start` tells it from a later one with the same id. */
export type Seen = { id: number; parent: number; session: number; threads: number; start: number; bytes: number }

/** What the processes of a job are found by. */
export type JobProcesses = {
  /** The first one, which all others descend from. */
  first: number
  /** A variable that all are started with; null where none can leave the job. */
  mark: string | null
  /** Those that were there when one last looked. */
  known: Seen[]
}

const pageBytes = 4096

/** All processes that the server can see. */
function everyProcess(): Seen[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? look(Number(name)) : []))
}

function look(id: number): Seen[] {
  const stat = textOf(`/proc/${id}/stat`)
  // The name of a program may hold blanks and brackets; what follows the last bracket does not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const number = (index: number) => Number(fields[index])
  // A zombie has no memory, and nothing to end.
  if (stat === '' || fields[0] === 'Z') return []
  return [{ id, parent: number(1), session: number(3), threads: number(17), start: number(19), bytes: number(21) * pageBytes }]
}

/** What a file below /proc says; nothing once its process is gone, or where the server may not look. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/**
 * Looks for the processes of a job: those below the first one and below those that were known, those of its session, and those that were
 * started with its mark. Together these find what moved away from its parent or its session, unless it left all of them behind at once.
 */
export function findProcesses(job: JobProcesses): Seen[] {
  const all = everyProcess()
  const isKnown = ({ id, start }: Seen) => job.known.some((known) => known.id === id && known.start === start)
  const ours = new Set(all.filter((one) => one.session === job.first || isKnown(one) || isMarked(one, job.mark)))
  const byParent = Map.groupBy(all, ({ parent }) => parent)
  for (const { id } of ours) for (const child of byParent.get(id) ?? []) ours.add(child)
  job.known = [...ours]
  return job.known
}

/** The variable that the processes of a job are started with. */
export const markOf = (folder: string): string => `SNUG_JOB=${folder}`

const isMarked = ({ id }: Seen, mark: string | null) => mark !== null && textOf(`/proc/${id}/environ`).split('\0').includes(mark)

/** Ends the processes that a server before left behind. */
export function endMarked(mark: string): void {
  for (const one of everyProcess()) if (isMarked(one, mark)) signal(one.id, 'SIGKILL')
}

/** How many processes and threads an account has. */
export const countOfAccount = (account: number): number =>
  everyProcess().reduce((sum, one) => sum + (accountOf(one) === account ? one.threads : 0), 0)

/** The accounts that have processes. */
export const accountsAtWork = (): number[] => everyProcess().map(accountOf)

const accountOf = ({ id }: Seen): number => Number(/^Uid:\t(\d+)/m.exec(textOf(`/proc/${id}/status`))?.[1])

/** Ends a process, or all of a group when the id is negative, unless it has ended. */
export function signal(id: number, name: 'SIGKILL' | 'SIGSTOP'): void {
  try {
    process.kill(id, name)
  } catch {
    // It ended by itself.
  }
}
