const maxLineLength = 2000

/** Captured output of a job: the last lines, and optionally the beginning of stdout. */
export type Output = {
  /** Adds output. Returns false if the limit is exceeded. */
  take: (stream: 'stdout' | 'stderr', chunk: Buffer) => boolean
  /** Ends the output: a trailing line without a line break becomes a complete line. */
  end: () => void
  lines: () => string[]
  stdout: () => Buffer
}

/** Replaces control characters that a terminal would interpret. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, (character) => (character === '\t' ? '\t' : '\u{FFFD}'))

/**
 * Captures the last `lines` lines of both streams, up to `mostBytes` bytes. If `stdoutBytes` is set, captures the first `stdoutBytes` bytes of stdout
 * unchanged, and lines of stderr only. `onLine` is called for each complete line; of a large burst, only for the last lines.
 */
export function keepOutput(
  limits: { mostBytes: number; lines: number; stdoutBytes: number | undefined },
  onLine?: (line: string) => void,
): Output {
  const kept: string[] = []
  const whole: Buffer[] = []
  const open = { stdout: '', stderr: '' }
  let seen = 0
  let remaining = limits.stdoutBytes ?? 0

  const addLine = (text: string) => {
    const line = printable(text.length > maxLineLength ? `${text.slice(0, maxLineLength)} …` : text)
    kept.push(line)
    if (kept.length > limits.lines) kept.shift()
    onLine?.(line)
  }
  const addText = (stream: 'stdout' | 'stderr', text: string) => {
    const complete = (open[stream] + text).split(/\r?\n|\r/)
    // Bound the buffer of an incomplete line.
    open[stream] = complete.pop()?.slice(0, maxLineLength + 1) ?? ''
    // Skip lines of a burst that would not be kept.
    for (const line of complete.slice(-limits.lines)) addLine(line)
  }

  return {
    take: (stream, chunk) => {
      const within = chunk.subarray(0, Math.max(0, limits.mostBytes - seen))
      seen += chunk.length
      if (stream === 'stderr' || limits.stdoutBytes === undefined) addText(stream, within.toString('utf8'))
      else if (remaining > 0) {
        // Copy, because a subarray would keep the whole chunk in memory.
        whole.push(Buffer.from(within.subarray(0, remaining)))
        remaining -= Math.min(remaining, within.length)
      }
      return seen <= limits.mostBytes
    },
    end: () => {
      for (const rest of Object.values(open)) if (rest !== '') addLine(rest)
      open.stdout = open.stderr = ''
    },
    lines: () => kept,
    stdout: () => Buffer.concat(whole),
  }
}
