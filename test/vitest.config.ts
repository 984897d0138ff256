import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectConfiguration } from 'vitest/config'
import { isFullRun } from './support/fault-table.ts'
import { keepTemporaryFilesInMemory } from './support/memory-folder.ts'
import { runsOnTwoInstances, isInEveryRun } from './support/several-files.ts'

keepTemporaryFilesInMemory()

/** Tests wait for their database or browser a third of the time: with more workers than cores, no core does. */
const workers = Math.ceil(availableParallelism() * 1.5)

const root = fileURLToPath(new URL('..', import.meta.url))

/** Tests that drive the app behave alike on both databases and so run on both: all but those in these folders, and in those named postgres. */
const apart = ['unit', 'e2e', 'faults', 'measured'].map((folder) => `test/${folder}/**`)
const driveTheApp = globSync('test/*/**/*.test.ts', { cwd: root, exclude: apart })
const onBoth = driveTheApp.filter((file) => !file.includes('/postgres/'))

/** Files for two instances that take turns: a few in every run, all of them by `npm test -- --project several`. */
const inTurns = driveTheApp.filter(process.argv.includes('several') ? runsOnTwoInstances : isInEveryRun)

type ProjectTests = Exclude<Extract<TestProjectConfiguration, { test?: unknown }>['test'], undefined>

/**
 * Files share their process, and with it the loaded and compiled server, which is as large as most of them. Each test has a server and a
 * database of its own. What modules keep beyond a server is found by its content (rendered texts) or holds for the whole process (threads, what
 * pictures may be read), so no test may count on being the first.
 */
const inOneProcess: ProjectTests = { isolate: false }

function project(name: string, include: string[], options: ProjectTests = {}): TestProjectConfiguration {
  const env = { NODE_ENV: 'test', TEST_DB: 'sqlite', ...options.env }
  return { extends: true, test: { ...options, name, include, env } }
}

export default defineConfig({
  root,
  test: {
    projects: [
      project('sqlite', [...onBoth, 'test/unit/**/*.test.ts'], { ...inOneProcess, globalSetup: 'test/support/sqlite-setup.ts' }),
      project('postgres', driveTheApp, { ...inOneProcess, env: { TEST_DB: 'postgres' }, globalSetup: 'test/support/postgres-setup.ts' }),
      // Two instances on one PostgreSQL and one bucket, which get requests in turn.
      project('several', inTurns, {
        ...inOneProcess,
        env: { TEST_DB: 'postgres', TEST_INSTANCES: '2' },
        globalSetup: 'test/support/postgres-setup.ts',
      }),
      project('e2e', ['test/e2e/**/*.test.ts'], {
        ...inOneProcess,
        globalSetup: ['test/support/sqlite-setup.ts', 'test/support/browser-setup.ts'],
      }),
      // Whole servers that are killed, starved and filled up, each test its own: three files at a time.
      project('faults', ['test/faults/**/*.test.ts'], {
        ...inOneProcess,
        globalSetup: 'test/support/postgres-setup.ts',
        sequence: { groupOrder: 1 },
        maxWorkers: isFullRun ? 1 : 3,
        testTimeout: 120_000,
      }),
      // What is about the time or the memory that a server takes, to refuse, to end, to be well again: one file at a time, after all others.
      project('measured', ['test/measured/**/*.test.ts'], {
        globalSetup: 'test/support/postgres-setup.ts',
        sequence: { groupOrder: 2 },
        maxWorkers: 1,
        testTimeout: 120_000,
      }),
    ],
    reporters: ['default', './test/support/fault-reporter.ts', './test/support/tally-reporter.ts'],
    maxWorkers: workers,
    // Far above what any test takes or waits for: a busy machine is no failure.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { requireAssertions: true, poll: { timeout: 10_000 } },
    // Node loads everything itself, as in production: vite's own loader would bring a second copy of graphql, whose types refuse the first one's.
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
})
