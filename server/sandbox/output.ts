const longestLine = 2000

/** What a job says: the last lines, and the beginning of stdout as it is. */
export type Output = {
  /** Takes what arrived; false once it was more than the job may say. */
  take: (stream: 'stdout' | 'stderr', chunk: Buffer) => boolean
  /** What has no line end yet becomes a line. */
  end: () => void
  lines: () => string[]
  stdout: () => Buffer
}

/** A line without what a terminal would act on. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, (character) => (character === '\t' ? '\t' : '\u{FFFD}'))

/**
 * Keeps the last `lines` lines of both streams, or only of stderr when the first `stdoutBytes` bytes of stdout are kept; counts to `mostBytes`.
 * @param onLine hears the lines as they are complete, of a flood only the last ones.
 */
export function keepOutput(
  limits: { mostBytes: number; lines: number; stdoutBytes: number | undefined },
  onLine?: (line: string) => void,
): Output {
  const kept: string[] = []
  const whole: Buffer[] = []
  const open = { stdout: '', stderr: '' }
  let seen = 0
  let room = limits.stdoutBytes ?? 0

  const addLine = (text: string) => {
    const line = printable(text.length > longestLine ? `${text.slice(0, longestLine)} …` : text)
    kept.push(line)
    if (kept.length > limits.lines) kept.shift()
    onLine?.(line)
  }
  const addText = (stream: 'stdout' | 'stderr', text: string) => {
    const complete = (open[stream] + text).split(/\r?\n|\r/)
    // A line without an end is not gathered for ever.
    open[stream] = complete.pop()?.slice(0, longestLine + 1) ?? ''
    // Of a flood, only what stays is looked at.
    for (const line of complete.slice(-limits.lines)) addLine(line)
  }

  return {
    take: (stream, chunk) => {
      const within = chunk.subarray(0, Math.max(0, limits.mostBytes - seen))
      seen += chunk.length
      if (stream === 'stderr' || limits.stdoutBytes === undefined) addText(stream, within.toString('utf8'))
      else if (room > 0) {
        // A copy: the part would keep all of the chunk in memory.
        whole.push(Buffer.from(within.subarray(0, room)))
        room -= Math.min(room, within.length)
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
