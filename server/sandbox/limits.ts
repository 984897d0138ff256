/** What one job may take. */
export type Limits = {
  /** By the clock on the wall. */
  seconds: number
  /** Of each of its processes. */
  cpuSeconds: number
  /** Of each of its processes, and resident of all of them together. */
  memoryBytes: number
  /** Processes and threads at once. */
  processes: number
  /** The largest file that it may write. */
  fileBytes: number
  /** What its folder may grow to. */
  folderBytes: number
  /** Files that each of its processes may have open. */
  openFiles: number
  /** What it may say on stdout and stderr together. */
  outputBytes: number
}

const MB = 1024 * 1024

/** Enough for the tools of an SDK on a large package. */
export const usualLimits: Limits = {
  seconds: 600,
  cpuSeconds: 900,
  memoryBytes: 2048 * MB,
  processes: 512,
  fileBytes: 512 * MB,
  folderBytes: 2048 * MB,
  openFiles: 4096,
  outputBytes: 32 * MB,
}

/**
 * The limits that the kernel holds for each process, as a command line to put before another one. Dart reserves far more address space than
 * it uses, so what counts is the memory that it may write to.
 * @param besides how many processes and threads of the same user are not the job's: the kernel counts by user.
 */
export const prlimit = (limits: Limits, besides: number): string[] => [
  'prlimit',
  '--core=0',
  `--data=${limits.memoryBytes}`,
  `--cpu=${limits.cpuSeconds}`,
  `--fsize=${limits.fileBytes}`,
  `--nofile=${limits.openFiles}`,
  `--nproc=${limits.processes + besides}`,
]
