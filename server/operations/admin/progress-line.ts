import { clearLine, cursorTo } from 'node:readline'

/** The stream that progress is written to. Stdout is reserved for the result. */
type Screen = Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'>

const widthOfBar = 24
const everyMs = 1000
const onTerminalEveryMs = 100

/** Shows the progress of a command at intervals: as a progress bar on a terminal, otherwise as lines of text. The end of a step is always shown. */
export function showProgress(screen: Screen = process.stderr) {
  let shownAt = Number.NEGATIVE_INFINITY
  return {
    update(title: string, { done, total, unit }: { done: number; total: number; unit: string }): void {
      const isDue = performance.now() - shownAt >= (screen.isTTY ? onTerminalEveryMs : everyMs)
      if (!isDue && done < total) return
      shownAt = performance.now()
      const percent = total === 0 ? 100 : Math.floor((done / total) * 100)
      const counts = `${done.toLocaleString('en')} of ${total.toLocaleString('en')} ${unit}`
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

function rewrite(screen: Screen, line: string): void {
  const stream = screen as NodeJS.WriteStream
  cursorTo(stream, 0)
  clearLine(stream, 0)
  stream.write(line.slice(0, (screen.columns || 80) - 1))
}
