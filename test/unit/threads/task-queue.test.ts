import { expect, it } from 'vitest'
import { nullIfFailed, openTaskQueue } from '../../../server/platform/threads/task-queue.ts'

const script = `import { parentPort } from 'node:worker_threads'
parentPort.on('message', (task) => {
  if (task === 'throw') throw new Error('thrown')
  if (task === 'exit') process.exit(1)
  if (task === 'loop') for (;;);
  parentPort.postMessage('done ' + task)
})
parentPort.postMessage('ready')`
const module = new URL(`data:text/javascript,${encodeURIComponent(script)}`)
const failing = new URL('data:text/javascript,throw new Error("cannot start")')
const limits = {
  threads: 1,
  deadlineMs: 1000,
  idleMs: 30_000,
  heapMb: 16,
  waiting: 4,
  waitingPerKey: 2,
  maxWaitMs: 30_000,
  full: 'Too many wait.',
}
const failed = 'It could not be done.'

it('runs tasks one after the other, and rejects those of a key that has too many', async () => {
  const queue = openTaskQueue(module, limits)
  const asked = await Promise.allSettled(['a', 'b', 'c', 'd'].map((task) => queue.run('alice', task)))
  expect(asked.map((one) => (one.status === 'fulfilled' ? one.value : one.reason))).toEqual([
    'done a',
    'done b',
    'done c',
    expect.objectContaining({ code: 'ServiceUnavailable', message: 'Too many wait.', retryAfter: 5 }),
  ])
})

it('has a queue of its own for each server', async () => {
  const [one, other] = [openTaskQueue(module, limits), openTaskQueue(module, limits)]
  const held = Promise.withResolvers<void>()
  const busy = one.inTurn('alice', () => held.promise)
  expect(await other.run('alice', 'a')).toBe('done a')
  held.resolve()
  await busy
})

it.each(['throw', 'exit', 'loop'])('rejects a task that fails (%s), and runs the next one', async (task) => {
  const queue = openTaskQueue(module, { ...limits, failed })
  await expect(queue.run('alice', task)).rejects.toMatchObject({ name: 'Error', wasAtWork: true })
  expect(await queue.run('alice', task).catch(nullIfFailed)).toBeNull()
  expect(await queue.run('alice', 'a')).toBe('done a')
})

it('rejects with 503 if no thread can be started', async () => {
  const unavailable = { code: 'ServiceUnavailable', message: failed, retryAfter: 60, cause: { message: 'cannot start' } }
  const queue = openTaskQueue(failing, { ...limits, failed })
  await expect(queue.run('alice', 'a')).rejects.toMatchObject(unavailable)
  await expect(queue.run('alice', 'a').catch(nullIfFailed)).rejects.toMatchObject(unavailable)
  await expect(queue.inTurn('alice', (ask) => ask('a'))).rejects.toMatchObject(unavailable)
  await expect(openTaskQueue(failing, limits).run('alice', 'a')).rejects.toMatchObject({ message: 'cannot start', wasAtWork: false })
})
