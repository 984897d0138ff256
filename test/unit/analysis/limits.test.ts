import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect, it } from 'vitest'
import { AnalysisFailed, type AnalysisTask, type AnalyzerLimits, openAnalyzer } from '../../../server/analysis/report/analyze.ts'
import type { PackageFacts } from '../../../server/analysis/report/task.ts'

const facts = (name: string): PackageFacts => ({
  name,
  version: '1.0.0',
  isPrivate: false,
  dependencies: {},
  packages: {},
  dart: null,
  now: '2026-01-01T00:00:00.000Z',
})

/** Opens an analyzer whose processes misbehave. The name of the package selects how. */
function misbehaving(limits: AnalyzerLimits = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'analysis-limits-'))
  const module = new URL('../../support/misbehaving.ts', import.meta.url)
  const archive = join(folder, 'any.tar.gz')
  writeFileSync(archive, '')
  let started = 0
  const makeFolder = () => {
    started++
    return mkdtemp(join(folder, 'process-'))
  }
  const analyzer = openAnalyzer({ makeFolder, module, deadlineMs: 20_000, memoryBytes: 128 * 1024 ** 2, ...limits })
  return {
    folder,
    /** Returns the number of started processes. */
    started: () => started,
    close: analyzer.close,
    analyze: (name: string, docs: AnalysisTask['docs'] = null) => analyzer.analyze({ archive, facts: facts(name), docs, earlier: null }),
    /** Returns the error of the analysis of a package with this name. */
    async failure(name: string): Promise<AnalysisFailed> {
      const error: unknown = await analyzer
        .analyze({ archive, facts: facts(name), docs: null, earlier: null })
        .catch((reason: unknown) => reason)
      if (!(error instanceof AnalysisFailed)) throw new Error(`${name} did not fail`, { cause: error })
      return error
    },
    async [Symbol.asyncDispose]() {
      await analyzer.close()
      await rm(folder, { recursive: true })
    },
  }
}

it.each([
  ['nonsense', /returned an invalid result/, false],
  ['exit', /ended early \(exit code 3\)/, false],
  ['silent', /ended early \(exit code 0\)/, false],
  ['broken', /ended early \(exit code 1; TypeError: a bug of its own\)/, false],
  ['killed', /ended early \(killed by SIGKILL\)/, true],
  ['heap', /needed more than 128 MB of memory/, false],
  ['buffers', /needed more than 128 MB of memory/, false],
])('fails one analysis with the reason and replaces the process: %s', async (name, reason, isTransient) => {
  await using analyses = misbehaving()
  const failure = await analyses.failure(name)
  expect(failure).toMatchObject({ message: expect.stringMatching(reason), isTransient })
  expect(await analyses.failure('well')).toMatchObject({ message: expect.stringMatching(/^process \d+$/) })
})

it('stops an endless loop at the deadline without blocking the server', async () => {
  await using analyses = misbehaving({ deadlineMs: 400 })
  await using others = misbehaving() // on a busy machine, an analysis may take longer than the deadline above
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const [first, second] = await Promise.all([analyses.failure('loop'), others.failure('well')])
  delay.disable()
  expect(first.message).toBe('The analysis took more than 0.4 seconds of CPU time.')
  expect(second.message).toMatch(/^process/)
  expect(delay.percentile(90) / 1e6).toBeLessThan(100)
})

it('waits for a process that gets little CPU time', async () => {
  await using analyses = misbehaving({ deadlineMs: 500 })
  expect((await analyses.failure('late')).message).toMatch(/^process/)
  expect(analyses.started()).toBe(1)
})

it('isolates the process from environment variables, files and programs of the server', async () => {
  process.env.SECRET_OF_THE_SERVER = 'hidden'
  await using analyses = misbehaving()
  const seen: unknown = JSON.parse((await analyses.failure('curious')).message)
  const denied = 'ERR_ACCESS_DENIED'
  expect(seen).toEqual({
    environment: [],
    database: denied,
    others: denied,
    outside: denied,
    inside: 'done',
    program: denied,
  })
})

it.each([
  ['generation exits', 'wordy', /ended early/],
  ['generation exceeds the deadline', 'endless', /^The analysis took more than 3 seconds of CPU time\.$/],
])('returns the report without pages and without a second analysis if page %s', async (_what, name, reason) => {
  await using analyses = misbehaving({ deadlineMs: 3000 })
  const { docs, docsFailure, report } = await analyses.analyze(name, { folder: analyses.folder })
  expect([docs, docsFailure, report.sections]).toEqual([null, expect.stringMatching(reason), []])
  expect(analyses.started()).toBe(1)
  // The process of the failed generation is not reused.
  expect((await analyses.failure('well')).message).toMatch(/^process/)
  expect(analyses.started()).toBe(2)
})

it('does not repeat an analysis that exceeds the deadline before it generates pages', async () => {
  await using analyses = misbehaving({ deadlineMs: 3000 })
  await expect(analyses.analyze('loop', { folder: analyses.folder })).rejects.toThrow('The analysis took more than 3 seconds of CPU time.')
  expect(analyses.started()).toBe(1)
})

it('reuses the process for the next package, and stops it without leftovers when idle', async () => {
  await using analyses = misbehaving({ idleMs: 150 })
  const [first, second] = [await analyses.failure('well'), await analyses.failure('well')]
  expect(second.message).toBe(first.message)
  const pid = Number(first.message.split(' ')[1])
  await expect.poll(() => isRunning(pid)).toBe(false)
  await expect.poll(() => readdirSync(analyses.folder)).toEqual(['any.tar.gz'])
  expect((await analyses.failure('well')).message).not.toBe(first.message)
})

it('fails running analyses with a transient error when it is closed', async () => {
  await using analyses = misbehaving()
  await analyses.failure('well')
  const failing = analyses.failure('loop')
  await analyses.close()
  expect(await failing).toMatchObject({ message: 'The server is stopping.', isTransient: true })
  expect(await analyses.failure('well')).toMatchObject({ isTransient: true })
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
