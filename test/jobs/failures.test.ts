import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { ConfigError } from '../../server/platform/config/config.ts'
import { DatabaseAway } from '../../server/platform/db/unavailable.ts'
import { conflict, diskFull, storageAway } from '../../server/errors.ts'
import { describeFailure } from '../../server/platform/jobs/failure.ts'
import { handler } from '../../server/platform/jobs/handler.ts'
import { enqueue } from '../../server/platform/jobs/queue.ts'
import { runPeriodically } from '../../server/platform/jobs/run-periodically.ts'
import { startWorker } from '../../server/platform/jobs/worker.ts'
import { testApp } from '../app.ts'

const errorWithCode = (code: string, message: string, more = {}) => Object.assign(new Error(message), { code, ...more })

it.each([
  [
    'an unreachable database',
    errorWithCode('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:5432', { syscall: 'connect' }),
    'connect ECONNREFUSED',
  ],
  ['a slow database', new DatabaseAway('A write took longer than 1500 ms.'), 'A write took longer than 1500 ms.'],
  ['a full database', errorWithCode('SQLITE_FULL', 'database or disk is full'), 'database or disk is full'],
  ['a full disk', errorWithCode('ENOSPC', 'ENOSPC: no space left on device, write'), 'ENOSPC: no space left on device, write'],
  ['a full store', diskFull(), "The server's disk is full"],
  [
    'a refusal by the bucket',
    storageAway(errorWithCode('AccessDenied', 'Access Denied')),
    'cannot be reached at the moment. Try again later. Error: Access Denied',
  ],
  ['an unreachable bucket', errorWithCode('STORAGE_AWAY', 'The bucket does not answer'), 'The bucket does not answer'],
  [
    'an error with several addresses',
    Object.assign(new AggregateError([new Error('one'), new Error('two')]), { code: 'ECONNREFUSED', syscall: 'connect' }),
    'Error: one, Error: two',
  ],
  ['invalid settings', new ConfigError(['S3_BUCKET: there is no such bucket.']), 'S3_BUCKET: there is no such bucket.'],
  ['a user-facing error', conflict('Another backup is running.'), 'Another backup is running.'],
])('describes %s without a stack trace', (_what, error, text) => {
  const described = describeFailure(error)
  expect(described).toEqual({ isKnown: true, text: expect.stringContaining(text) })
  expect(described.text).not.toContain('failures.test.ts')
})

it('describes unexpected errors with their stack trace', () => {
  for (const error of [new TypeError('x is not a function'), errorWithCode('ENOENT', 'no such file')])
    expect(describeFailure(error)).toEqual({ isKnown: false, text: expect.stringContaining('failures.test.ts') })
})

it('logs warnings for known errors of retried jobs and periodic tasks', async () => {
  await using app = await testApp()
  const run = async (error: Error, maxAttempts: number) => {
    app.lines.length = 0
    const fail = async () => {
      throw error
    }
    const failing = handler(z.unknown(), fail, { maxAttempts })
    await app.services.database.fork().transactional((em) => enqueue(em, { kind: 'failing', subject: 'a' }, app.services.now()))
    const worker = startWorker(app.services, { failing })
    await worker.settled()
    await worker.stop()
    await app.services.database.fork().execute('delete from jobs')
    return app.lines.filter((line) => !line.includes(' DEBUG ')).join('')
  }
  const full = errorWithCode('ENOSPC', 'no space left')
  expect(await run(full, 2)).toMatch(/ WARNING job \S+ \(failing a\), attempt 1 of 2: no space left\n$/)
  expect(await run(full, 1)).toMatch(/ ERROR job \S+ \(failing a\), attempt 1 of 1: no space left\n$/)
  expect(await run(new Error('a mistake'), 2)).toMatch(/ ERROR job \S+ \(failing a\), attempt 1 of 2: Error: a mistake.* at /)
  app.lines.length = 0
  let turns = 0
  const end = runPeriodically('tidying', 5, app.services, async () => {
    turns++
    throw turns === 1 ? full : new Error('a mistake')
  })
  await expect.poll(() => turns).toBeGreaterThan(1)
  end()
  const [first, second] = app.lines.filter((line) => line.includes('tidying'))
  expect(first).toMatch(/ WARNING tidying: no space left\n$/)
  expect(second).toMatch(/ ERROR tidying: Error: a mistake.* at /)
})

it('logs once that the database is unreachable while polling for jobs, and again after a recovery', async () => {
  await using app = await testApp()
  let isAway = true
  const fork = () => {
    if (isAway) throw new DatabaseAway('PostgreSQL does not answer.')
    return app.services.database.fork()
  }
  const worker = startWorker(
    { ...app.services, database: { ...app.services.database, fork } },
    { none: handler(z.unknown(), async () => {}) },
    { pollMs: 5 },
  )
  const told = () => app.lines.filter((line) => line.endsWith(' WARNING looking for jobs: PostgreSQL does not answer.\n')).length
  const looks = async () => {
    await sleep(100)
    await worker.settled()
  }
  await looks()
  expect(told()).toBe(1)
  isAway = false
  await looks()
  isAway = true
  await looks()
  expect(told()).toBe(2)
  isAway = false
  await worker.stop()
  expect(app.lines.filter((line) => line.includes(' ERROR '))).toEqual([])
})

it('logs one warning for an outage that stops many jobs, and another after a success', async () => {
  await using app = await testApp()
  const { database, now } = app.services
  let isAway = true
  const work = handler(z.unknown(), async () => {
    if (isAway) throw storageAway(errorWithCode('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:9000'))
  })
  const worker = startWorker(app.services, { copying: work, indexing: work })
  const runJobs = async (round: string) => {
    await database.fork().transactional(async (em) => {
      for (const kind of ['copying', 'indexing', 'copying'])
        for (const subject of ['a', 'b', 'c']) await enqueue(em, { kind, subject: `${round} ${subject} ${kind}` }, now())
    })
    await worker.settled()
  }
  const failures = () => app.lines.filter((line) => /ECONNREFUSED/.test(line))
  await runJobs('first')
  await runJobs('second')
  expect(failures()).toEqual([expect.stringMatching(/ WARNING job \S+ \((copying|indexing) first /)])
  isAway = false
  await runJobs('third')
  isAway = true
  await runJobs('fourth')
  expect(failures()).toHaveLength(2)
  await worker.stop()
  expect(app.lines.filter((line) => line.includes(' ERROR '))).toEqual([])
})

it('logs one warning for an outage when a job ends and periodic tasks run', async () => {
  await using app = await testApp()
  const { database, now } = app.services
  await database.fork().transactional((em) => enqueue(em, { kind: 'writing', subject: 'a' }, now()))
  let isAway = false
  const fork = () => {
    if (isAway) throw new DatabaseAway('PostgreSQL does not answer.')
    return database.fork()
  }
  const writing = handler(z.unknown(), async () => {
    isAway = true
    throw new DatabaseAway('PostgreSQL does not answer.')
  })
  const worker = startWorker({ ...app.services, database: { ...database, fork } }, { writing }, { pollMs: 5 })
  let turns = 0
  const end = runPeriodically('tidying', 5, app.services, async () => {
    turns++
    fork()
  })
  await expect.poll(() => isAway && turns).toBeGreaterThan(5)
  await worker.settled()
  end()
  isAway = false
  await worker.stop()
  const told = app.lines.filter((line) => line.includes('PostgreSQL does not answer.'))
  expect(told.filter((line) => line.includes('tidying'))).toEqual([expect.stringContaining(' WARNING tidying: ')])
  expect(told.filter((line) => !line.includes('tidying'))).toEqual([
    // Whichever of the worker's two activities notices the outage first reports it.
    expect.stringMatching(/ WARNING (?:job \S+ \(writing a\), attempt 1 of 5|looking for jobs): /),
  ])
})
