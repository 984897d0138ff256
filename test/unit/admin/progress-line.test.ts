import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, it, onTestFinished, vi } from 'vitest'
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

it('shows the bytes at once, and rate and remaining time after two seconds of a step', () => {
  const { stream, text } = screen()
  const clock = vi.spyOn(performance, 'now').mockReturnValue(10_000)
  onTestFinished(() => clock.mockRestore())
  const progress = showProgress(stream)
  progress.update('Copying archives', { done: 1, total: 1000, unit: 'files', bytes: 2_000_000 })
  clock.mockReturnValue(20_000)
  progress.update('Copying archives', { done: 100, total: 1000, unit: 'files', bytes: 50_000_000 })
  progress.update('Checking tables', { done: 0, total: 10, unit: 'tables' })
  clock.mockReturnValue(30_000)
  progress.update('Checking tables', { done: 5, total: 10, unit: 'tables' })
  expect(text().trimEnd().split('\n')).toEqual([
    'Copying archives: 1 of 1,000 files, 2.0 MB (0 %)',
    'Copying archives: 100 of 1,000 files, 50.0 MB, 5.0 MB/s, 90 s left (10 %)',
    'Checking tables: 5 of 10 tables, 1 tables/s, 10 s left (50 %)',
  ])
})

it('writes at most one plain line per second to other outputs, and the last line of each step', () => {
  const { stream, text } = screen()
  const progress = showProgress(stream)
  for (const done of [1, 2, 1000]) progress.update('Copying users', { done, total: 1000, unit: 'rows' })
  progress.end()
  expect(text()).toBe('Copying users: 1 of 1,000 rows (0 %)\nCopying users: 1,000 of 1,000 rows (100 %)\n')
})
