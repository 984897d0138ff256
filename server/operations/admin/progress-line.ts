import { clearLine, cursorTo } from 'node:readline'

/** The stream that progress is written to. Stdout is reserved for the result. */
type Screen = Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'>

const widthOfBar = 24
const everyMs = 1000
const onTerminalEveryMs = 100

/** Seconds of a step after which its rate and the remaining time are shown. Earlier, they would be guesses. */
const minSeconds = 2

/** The progress of a step. `bytes` is the size of what is done. */
type Progress = { done: number; total: number; unit: string; bytes?: number }

/**
 * Shows the progress of a command at intervals: as a progress bar on a terminal, otherwise as lines of text. The end of a step is always shown. Steps
 * that take a while also have a rate and the remaining time.
 */
export function showProgress(screen: Screen = process.stderr) {
  let [shownAt, step, begunAt] = [Number.NEGATIVE_INFINITY, '', 0]
  return {
    update(title: string, progress: Progress): void {
      const { done, total, unit } = progress
      if (title !== step) [step, begunAt] = [title, performance.now()]
      const isDue = performance.now() - shownAt >= (screen.isTTY ? onTerminalEveryMs : everyMs)
      if (!isDue && done < total) return
      shownAt = performance.now()
      const percent = total === 0 ? 100 : Math.floor((done / total) * 100)
      const speed = describeSpeed(progress, (performance.now() - begunAt) / 1000)
      const counts = `${done.toLocaleString('en')} of ${total.toLocaleString('en')} ${unit}${speed}`
      if (!screen.isTTY) return void screen.write(`${title}: ${counts} (${percent} %)\n`)
      const filled = Math.floor((percent / 100) * widthOfBar)
      const bar = `[${'#'.repeat(filled)}${'-'.repeat(widthOfBar - filled)}]`
      rewrite(screen, `${bar} ${String(percent).padStart(3)} %  ${title}: ${counts}`)
    },
    /** Clears the progress bar, so that other output can follow. */
    end(): void {
      if (screen.isTTY) rewrite(screen, '')
    },
  }
}

function describeSpeed({ done, total, unit, bytes }: Progress, seconds: number): string {
  const megabytes = bytes === undefined ? '' : `, ${(bytes / 1e6).toFixed(1)} MB`
  if (seconds < minSeconds || done === 0) return megabytes
  const rate =
    bytes === undefined ? `${Math.round(done / seconds).toLocaleString('en')} ${unit}/s` : `${(bytes / 1e6 / seconds).toFixed(1)} MB/s`
  const left = Math.ceil(((total - done) * seconds) / done)
  const time = left < 120 ? `${left} s` : `${Math.ceil(left / 60)} min`
  return `${megabytes}, ${rate}, ${time} left`
}

function rewrite(screen: Screen, line: string): void {
  const stream = screen as NodeJS.WriteStream
  cursorTo(stream, 0)
  clearLine(stream, 0)
  stream.write(line.slice(0, (screen.columns || 80) - 1))
}
