import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectConfiguration } from 'vitest/config'
import { isFullRun } from './support/fault-table.ts'
import { keepTemporaryFilesInMemory } from './support/memory-folder.ts'
import { SlowFirst } from './support/slow-first.ts'
import { runsOnTwoInstances, isInEveryRun } from './support/several-files.ts'

keepTemporaryFilesInMemory()

/** Tests spend a third of their time waiting for the database or browser, so more workers than cores are needed to keep all cores busy. */
const workers = Math.ceil(availableParallelism() * 1.5)

const root = fileURLToPath(new URL('..', import.meta.url))

process.env.NODE_COMPILE_CACHE ??= `${root}node_modules/.cache/snug` // every test process loads the whole server

/** `npm test` leaves these projects to `npm run test:faults`. They need root and more programs, or measure. */
const isLeftOut = (name: string): boolean => process.env.npm_lifecycle_event === 'test' && ['faults', 'waiting', 'measured'].includes(name)

/** Tests that need a program of the system: nginx, or promtool. They run with those in `test/faults`. */
const withPrograms = ['http/proxy-archives', 'http/proxy-cache', 'metrics/promtool', 'unit/deploy/alerts'].map(
  (name) => `test/${name}.test.ts`,
)

/** Tests of the app run on both databases, except those in these folders and in folders named `postgres`. */
const apart = ['unit', 'e2e', 'faults', 'measured'].map((folder) => `test/${folder}/**`)
const driveTheApp = globSync('test/*/**/*.test.ts', { cwd: root, exclude: [...apart, ...withPrograms] })
const onBoth = driveTheApp.filter((file) => !file.includes('/postgres/'))

/**
 * Files about HTTP, rendering, requests to other servers, downloads and analysis, which store hardly anything: they run on SQLite only. What they store is tested on both
 * databases elsewhere.
 */
const withoutSql = [
  ...['badges', 'console', 'feeds', 'http', 'legal', 'pana'].map((folder) => `${folder}/*`),
  ...['anonymous-crawl', 'body-encoding', 'fuzz', 'graphql-over-http', 'http-conventions', 'malformed'].map((name) => `contract/${name}`),
  ...['cancel', 'downloads', 'import', 'mirrors', 'redirects'].map((name) => `sdks/${name}`),
  ...['domain-check', 'domain-verification'].map((name) => `publishers/${name}`),
  ...['document-memory', 'fragments', 'long-texts', 'query-cost'].map((name) => `graphql/${name}`),
  ...['archive-faults', 'documents', 'reads/large-documents', 'upstream/limits'].map((name) => `mirror/${name}`),
  ...['platforms', 'with-pana'].map((name) => `scoring/${name}`),
  'accounts/avatar',
  'comparison/file-diff',
  'files/files',
  'files/raw',
].map((name) => `test/${name}.test.ts`)

/**
 * Files that need no other statement on PostgreSQL than the files that run there, and that test neither races nor values that only PostgreSQL rejects.
 * They run on SQLite only.
 */
const withKnownSql = [
  ...['access', 'attention', 'attestation', 'listing-faults', 'lock-files', 'policy-effects', 'preload', 'resolution'].map(
    (name) => `mirror/${name}`,
  ),
  ...['policies/unreadable-advisories', 'reads/policies-on-archives'].map((name) => `mirror/${name}`),
  ...['retraction', 'uploaders'].map((name) => `packages/${name}`),
  ...['endpoints', 'sdks'].map((name) => `sdks/${name}`),
  'access/mirror-names',
  'admin/accounts',
  'backup/bucket-refusals',
  'blobs/s3-faults',
  'checks/buckets',
  'checks/proxy',
  'comparison/comparison',
  'downloads/archives',
  'downloads/mirror-client',
  'graphql/former-documents',
  'graphql/persisted-queries',
  'images/documentation',
  'images/refused-images',
  'metrics/mirror',
  'upgrades/mirror-check',
  'uploads/bodies',
  'uploads/refusals',
].map((name) => `test/${name}.test.ts`)
const onPostgres = globSync('test/*/**/*.test.ts', { cwd: root, exclude: [...apart, ...withPrograms, ...withoutSql, ...withKnownSql] })

/** Files that run with two instances: a few in every run, all of them with `npm test -- --project several`. */
const inTurns = driveTheApp.filter(process.argv.includes('several') ? runsOnTwoInstances : isInEveryRun)

/** Files in `measured` that leave the processor idle for most of their time. */
const waiting = ['kills', 'postgres-away', 'statistics', 'stopping'].map((name) => `test/measured/${name}.test.ts`)

type ProjectTests = Exclude<Extract<TestProjectConfiguration, { test?: unknown }>['test'], undefined>

/**
 * Runs test files in one process, which shares the loaded and compiled server code. Each test has its own server and database.
 * Module state that outlives a server is either keyed by content (rendered texts) or applies to the whole process (threads, allowed image formats),
 * so no test may assume that it runs first.
 */
const inOneProcess: ProjectTests = { isolate: false }

function project(name: string, include: string[], options: ProjectTests = {}): TestProjectConfiguration[] {
  if (isLeftOut(name)) return []
  const env = { NODE_ENV: 'test', TEST_DB: 'sqlite', ...options.env }
  return [{ extends: true, test: { ...options, name, include, env } }]
}

export default defineConfig({
  root,
  test: {
    projects: [
      ...project('sqlite', [...onBoth, 'test/unit/**/*.test.ts'], {
        ...inOneProcess,
        exclude: withPrograms,
        globalSetup: 'test/support/sqlite-setup.ts',
      }),
      ...project('postgres', onPostgres, { ...inOneProcess, env: { TEST_DB: 'postgres' }, globalSetup: 'test/support/postgres-setup.ts' }),
      // Two instances that share a PostgreSQL database and an S3 bucket and receive requests in turn.
      ...project('several', inTurns, {
        ...inOneProcess,
        env: { TEST_DB: 'postgres', TEST_INSTANCES: '2' },
        globalSetup: 'test/support/postgres-setup.ts',
      }),
      ...project('e2e', ['test/e2e/**/*.test.ts'], {
        ...inOneProcess,
        globalSetup: ['test/support/sqlite-setup.ts', 'test/support/browser-setup.ts'],
      }),
      // Server processes that are killed or run out of memory or disk space, one per test: three files at a time.
      ...project('faults', ['test/faults/**/*.test.ts', ...withPrograms], {
        ...inOneProcess,
        globalSetup: 'test/support/postgres-setup.ts',
        sequence: { groupOrder: 1 },
        maxWorkers: isFullRun ? 1 : 3,
        testTimeout: 600_000,
      }),
      // Tests of time limits that mostly wait for them: two files at a time.
      ...project('waiting', waiting, {
        globalSetup: 'test/support/postgres-setup.ts',
        sequence: { groupOrder: 2 },
        maxWorkers: isFullRun ? 1 : 2,
        testTimeout: 600_000,
      }),
      // Tests that measure the time or memory of the server: one file at a time, after all others.
      ...project('measured', ['test/measured/**/*.test.ts'], {
        exclude: waiting,
        globalSetup: 'test/support/postgres-setup.ts',
        sequence: { groupOrder: 3 },
        maxWorkers: 1,
        testTimeout: 600_000,
      }),
    ],
    reporters: ['default', './test/support/fault-reporter.ts', './test/support/tally-reporter.ts'],
    maxWorkers: workers,
    sequence: { sequencer: SlowFirst },
    // Far longer than any test takes or waits, so that a busy machine does not cause failures.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { requireAssertions: true, poll: { timeout: 60_000 } },
    // Node loads all modules itself, as in production: Vite's loader would load a second copy of graphql, whose types are incompatible with the
    // first.
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
})
