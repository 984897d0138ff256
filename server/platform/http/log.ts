// Why not pino 10 (a dependency of Fastify): its destination stops writing at the first EPIPE without a report and does not count dropped lines, so
// the handling of stdout below would remain. Levels and line formats take more code with it than here, because it escapes neither U+0085 nor U+2028
// and has no text format. Measured per line: 2.5 µs instead of 1.2 µs as JSON, 0.8 µs instead of 0.25 µs as text.
import { writeSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import sonicBoom from 'sonic-boom'
import { currentScope } from './request-scope.ts'

const levels = ['error', 'warning', 'info', 'debug'] as const
export type LogLevel = (typeof levels)[number]

/** Additional fields of a log line. Only included in JSON. */
type Fields = Readonly<Record<string, string | number | null>>

/** Writes lines to stdout: `<ISO time> <LEVEL> <text>`, or JSON objects. */
export type Log = Record<LogLevel, (text: string, fields?: Fields) => void> & {
  /** Writes a line at every log level, for messages that the operator must see. */
  announce(text: string): void
  /** Resolves when all lines are written, or after one second if stdout is blocked. */
  flush(): Promise<void>
}

/** Opens the log. `write` receives whole lines; by default, they are buffered briefly and written to stdout. */
export function openLog(level: LogLevel, write?: (line: string) => void, format: 'text' | 'json' = 'text'): Log {
  const line = format === 'json' ? jsonLine : textLine
  const { emit, flush } = write ? { emit: write, flush: async () => {} } : openStdout((text) => line('warning', text))
  const least = levels.indexOf(level)
  const log = Object.fromEntries(
    levels.map((name, rank) => [name, rank > least ? () => {} : (text: string, fields?: Fields) => emit(line(name, text, fields))]),
  ) as Record<LogLevel, (text: string, fields?: Fields) => void>
  return { ...log, announce: (text) => emit(format === 'json' ? jsonLine('info', text) : `${printable(text)}\n`), flush }
}

const textLine = (level: LogLevel, text: string): string => `${timestamp()} ${level.toUpperCase()} ${printable(text)}\n`

/** Formats a line as JSON, with the id of the current request if there is one. */
function jsonLine(level: LogLevel, message: string, fields?: Fields): string {
  const requestId = currentScope()?.id
  return `${printable(JSON.stringify({ time: timestamp(), level, message, ...(requestId !== undefined && { requestId }), ...fields }))}\n`
}

/** Returns the current time in ISO 8601. Formatting is the main cost of a line, so it is cached per millisecond. */
function timestamp(): string {
  const now = Date.now()
  if (now !== last.now) last = { now, text: new Date(now).toISOString() }
  return last.text
}
let last = { now: 0, text: '' }

/** Timeout of `flush` in milliseconds. */
const flushTimeoutMs = 1000

/** Maximum number of bytes buffered while stdout is slow or the disk is full. Further lines are dropped. */
const maxBufferedBytes = 4 * 1024 * 1024

/**
 * Writes lines to stdout asynchronously, in batches of up to 200 ms. If stdout fails because its disk is full or its reader is gone, reports this
 * once on stderr and retries with each further write. `warn` formats the line that reports the number of lost lines.
 */
function openStdout(warn: (text: string) => string): { emit(line: string): void; flush(): Promise<void> } {
  const out = new sonicBoom.SonicBoom({ fd: 1, sync: false, maxLength: maxBufferedBytes })
  let gathered = ''
  let timer: NodeJS.Timeout | undefined
  function pass(): void {
    clearTimeout(timer)
    timer = undefined
    if (gathered) out.write(gathered)
    gathered = ''
  }
  function emit(line: string): void {
    gathered += line
    if (gathered.length > 65536) pass()
    else timer ??= setTimeout(pass, 200).unref()
  }
  surviveWriteErrors(out, (lost) => emit(warn(`${lost} log lines were lost because stdout could not be written`)))
  return {
    emit,
    flush() {
      pass()
      // Buffered lines are lost if the process ends before they are written (see endProcess).
      const written = new Promise<void>((resolve) => out.flush(() => resolve()))
      return Promise.race([written, wait(flushTimeoutMs, undefined, { ref: false })])
    },
  }
}

/** Keeps the process running when stdout cannot be written. Calls `onWritten` with the number of lost lines once the buffer is written. */
function surviveWriteErrors(out: InstanceType<typeof sonicBoom.SonicBoom>, onWritten: (lost: number) => void): void {
  let isFailing = false
  let lost = 0
  out.on('error', (error: Error) => {
    if (!isFailing) writeToStderr(`Cannot write the log to stdout (${error.message}). The server continues and retries with each line.\n`)
    isFailing = true
  })
  out.on('drop', (lines: string) => {
    lost += lines.split('\n').length - 1
    // A dropped line does not start a write. Without a flush, writing would never be retried.
    out.flush()
  })
  out.on('drain', () => {
    isFailing = false
    if (lost > 0) onWritten(lost)
    lost = 0
  })
}

/** Writes to stderr, ignoring errors: it may be on the same full disk or closed. */
function writeToStderr(text: string): void {
  try {
    writeSync(2, text)
  } catch {
    // No output is left.
  }
}

// oxlint-disable-next-line no-control-regex -- matches control characters
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g

/** Escapes control characters, so that logged values cannot forge log lines. */
function printable(text: string): string {
  return text.replace(control, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Exits with code 0. `process.exit` would block while a thread is stuck in a file system call; replacing the process by another program does not. */
export function endProcess(): never {
  const isHeld = process.getActiveResourcesInfo().some((kind) => kind.startsWith('FSReq'))
  if (isHeld) process.execve?.(process.execPath, [process.execPath, '--eval', ''], {})
  process.exit(0)
}
