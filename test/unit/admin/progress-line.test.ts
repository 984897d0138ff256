import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { showProgress } from '../../../server/operations/admin/progress-line.ts'

/** Simulates a terminal with a number of columns, or a file, and records what is written to it. */
function screen(columns?: number) {
  let text = ''
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk)
      done()
    },
  })
  return { stream: Object.assign(stream, { isTTY: columns !== undefined, columns: columns ?? 0 }), text: () => text }
}

it('updates a progress bar on one terminal line, truncated to its width', () => {
  const { stream, text } = screen(60)
  const progress = showProgress(stream)
  progress.update('Copying users', { done: 500, total: 1000, unit: 'rows' })
  progress.update('Copying users', { done: 501, total: 1000, unit: 'rows' })
  progress.update('Comparing package_versions', { done: 1000, total: 1000, unit: 'rows' })
  progress.end()
  const lines = text().split('\u001B[1G').map(stripVTControlCharacters)
  expect(lines).toEqual(
    [
      '',
      '[############------------]  50 %  Copying users: 500 of 1,00',
      '[########################] 100 %  Comparing package_versions',
      '',
    ].map((line) => line.slice(0, 59)),
  )
})

it('writes at most one plain line per second to other outputs, and the last line of each step', () => {
  const { stream, text } = screen()
  const progress = showProgress(stream)
  for (const done of [1, 2, 1000]) progress.update('Copying users', { done, total: 1000, unit: 'rows' })
  progress.end()
  expect(text()).toBe('Copying users: 1 of 1,000 rows (0 %)\nCopying users: 1,000 of 1,000 rows (100 %)\n')
})
