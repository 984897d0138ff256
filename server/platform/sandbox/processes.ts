import { readdirSync, readFileSync } from 'node:fs'

/** A process as listed in /proc. `start` distinguishes processes with the same id. */
export type ProcessInfo = { id: number; parent: number; session: number; threads: number; start: number; bytes: number }

export type JobProcesses = {
  /** Id of the first process, from which all others descend. */
  first: number
  /** Environment variable that marks the processes; null if processes cannot leave the job. */
  mark: string | null
  /** Processes found by the previous search. */
  known: ProcessInfo[]
}

const pageBytes = 4096

function listProcesses(): ProcessInfo[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? look(Number(name)) : []))
}

function look(id: number): ProcessInfo[] {
  const stat = textOf(`/proc/${id}/stat`)
  // The program name may contain spaces and parentheses. The fields after the last parenthesis do not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const number = (index: number) => Number(fields[index])
  // Zombies have no memory and cannot be killed.
  if (stat === '' || fields[0] === 'Z') return []
  return [{ id, parent: number(1), session: number(3), threads: number(17), start: number(19), bytes: number(21) * pageBytes }]
}

/** Reads a file below /proc. Returns an empty string if the process is gone or the file is not readable. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/**
 * Finds the processes of a job: descendants of its first process and of processes found earlier, members of its session, and processes with its
 * environment variable. This also finds processes that changed their parent or session, unless they escaped all criteria at once.
 */
export function findProcesses(job: JobProcesses): ProcessInfo[] {
  const all = listProcesses()
  const isKnown = ({ id, start }: ProcessInfo) => job.known.some((known) => known.id === id && known.start === start)
  const ours = new Set(all.filter((one) => one.session === job.first || isKnown(one) || isMarked(one, job.mark)))
  const byParent = Map.groupBy(all, ({ parent }) => parent)
  for (const { id } of ours) for (const child of byParent.get(id) ?? []) ours.add(child)
  job.known = [...ours]
  return job.known
}

/** Returns the environment variable that marks the processes of a job. */
export const markOf = (folder: string): string => `SNUG_JOB=${folder}`

const isMarked = ({ id }: ProcessInfo, mark: string | null) => mark !== null && textOf(`/proc/${id}/environ`).split('\0').includes(mark)

/** Kills processes that a previous server left behind. */
export function killMarked(mark: string): void {
  for (const one of listProcesses()) if (isMarked(one, mark)) signal(one.id, 'SIGKILL')
}

/** Returns the number of processes and threads of an account. */
export const countOfAccount = (account: number): number =>
  listProcesses().reduce((sum, one) => sum + (accountOf(one) === account ? one.threads : 0), 0)

export const accountsInUse = (): number[] => listProcesses().map(accountOf)

const accountOf = ({ id }: ProcessInfo): number => Number(/^Uid:\t(\d+)/m.exec(textOf(`/proc/${id}/status`))?.[1])

/** Sends a signal to a process, or to a process group if the id is negative. Ignores processes that have ended. */
export function signal(id: number, name: 'SIGKILL' | 'SIGSTOP'): void {
  try {
    process.kill(id, name)
  } catch {
    // The process has already ended.
  }
}
