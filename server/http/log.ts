import { writeSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import sonicBoom from 'sonic-boom'
import { currentScope } from './request-scope.ts'

const levels = ['error', 'warning', 'info', 'debug'] as const
export type LogLevel = (typeof levels)[number]

/** What a line says beside its text, where lines are JSON. */
type Fields = Readonly<Record<string, string | number | null>>

/** Writes lines to stdout: `<ISO time> <LEVEL> <text>`, or objects as JSON. */
export type Log = Record<LogLevel, (text: string, fields?: Fields) => void> & {
  /** Writes a line as it is, at any level: for what the operator must see. */
  announce(text: string): void
  /** Resolves when all lines are written, or after a second if nobody takes them. */
  flush(): Promise<void>
}

/**
 * Opens the log. `write` takes whole lines; by default they are gathered briefly and go to stdout. When that takes none, the server goes on
 * without: see `openStdout`.
 */
export function openLog(level: LogLevel, write?: (line: string) => void, format: 'text' | 'json' = 'text'): Log {
  const line = format === 'json' ? jsonLine : textLine
  const { emit, flush } = write ? { emit: write, flush: async () => {} } : openStdout((text) => line('warning', text))
  const least = levels.indexOf(level)
  const log = Object.fromEntries(
    levels.map((name, rank) => [name, rank > least ? () => {} : (text: string, fields?: Fields) => emit(line(name, text, fields))]),
  ) as Record<LogLevel, (text: string, fields?: Fields) => void>
  return { ...log, announce: (text) => emit(format === 'json' ? jsonLine('info', text) : `${printable(text)}\n`), flush }
}

const textLine = (level: LogLevel, text: string): string => `${moment()} ${level.toUpperCase()} ${printable(text)}\n`

/** The request that a line is about is named in each. */
function jsonLine(level: LogLevel, message: string, fields?: Fields): string {
  const requestId = currentScope()?.id
  return `${printable(JSON.stringify({ time: moment(), level, message, ...(requestId !== undefined && { requestId }), ...fields }))}\n`
}

/** The time as ISO 8601 has it. Writing it out is most of a line's cost, and many lines share a millisecond. */
function moment(): string {
  const now = Date.now()
  if (now !== last.now) last = { now, text: new Date(now).toISOString() }
  return last.text
}
let last = { now: 0, text: '' }

/** How long `flush` waits for whoever reads the log. */
const patienceMs = 1000

/** So many bytes wait in memory for a reader that is slow, or for room on the disk; further lines are lost. */
const keptBytes = 4 * 1024 * 1024

/**
 * Writes to stdout without holding anybody up, many lines at once. A line waits for a fifth of a second at most. When stdout takes nothing (its
 * disk is full, its reader is gone), that is said once on stderr, and each further write tries again; `warn` makes the line that says what was lost.
 */
function openStdout(warn: (text: string) => string): { emit(line: string): void; flush(): Promise<void> } {
  const out = new sonicBoom.SonicBoom({ fd: 1, sync: false, maxLength: keptBytes })
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
  outliveFailures(out, (lost) => emit(warn(`${lost} lines of the log were lost: they could not be written`)))
  return {
    emit,
    flush() {
      pass()
      // What waits for a thread to write it would be lost if the process ended now (see endProcess).
      const written = new Promise<void>((resolve) => out.flush(() => resolve()))
      return Promise.race([written, wait(patienceMs, undefined, { ref: false })])
    },
  }
}

/** Has the process go on when its output cannot be written. `onWritten` hears how many lines were lost once nothing waits any more. */
function outliveFailures(out: InstanceType<typeof sonicBoom.SonicBoom>, onWritten: (lost: number) => void): void {
  let isFailing = false
  let lost = 0
  out.on('error', (error: Error) => {
    if (!isFailing)
      complain(`The log cannot be written to stdout (${error.message}). The server goes on, and tries again with each line.\n`)
    isFailing = true
  })
  out.on('drop', (lines: string) => {
    lost += lines.split('\n').length - 1
    // What is dropped starts no write, so nothing would ever be tried again.
    out.flush()
  })
  out.on('drain', () => {
    isFailing = false
    if (lost > 0) onWritten(lost)
    lost = 0
  })
}

/** Says it on stderr, which may be on the same full disk, or gone as well. */
function complain(text: string): void {
  try {
    writeSync(2, text)
  } catch {
    // There is nobody left to tell.
  }
}

// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g

/** The text with control characters escaped, so that nobody can forge a line. */
function printable(text: string): string {
  return text.replace(control, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
