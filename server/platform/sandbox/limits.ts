/** Resource limits of a job. */
export type Limits = {
  /** Wall-clock time in seconds. */
  seconds: number
  /** CPU time per process, in seconds. */
  cpuSeconds: number
  /** Data memory per process, and resident memory of all processes together. */
  memoryBytes: number
  /** Maximum number of processes and threads. */
  processes: number
  /** Maximum size of a single file. */
  fileBytes: number
  /** Maximum size of the job's folder. */
  folderBytes: number
  /** Maximum number of open files per process. */
  openFiles: number
  /** Maximum output on stdout and stderr together, in bytes. */
  outputBytes: number
}

const MB = 1024 * 1024

/** Default limits, sufficient for the tools of an SDK on a large package. */
export const defaultLimits: Limits = {
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
