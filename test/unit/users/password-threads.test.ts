import { execFile } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { openThreadPool } from '../../../server/platform/threads/pool.ts'
import { passwordThreads } from '../../../server/accounts/users/password-threads.ts'

const script = `import { parentPort, threadId } from 'node:worker_threads'
parentPort.on('message', (question) => {
  if (question === 'throw') throw new Error('thrown')
  if (question === 'exit') process.exit(1)
  if (question === 'loop') for (;;);
  if (question === 'late') return setTimeout(() => parentPort.postMessage(threadId), 1500)
  parentPort.postMessage(threadId)
})
parentPort.postMessage('ready')`
const module = new URL(`data:text/javascript,${encodeURIComponent(script)}`)
const limits = { deadlineMs: 30_000, idleMs: 30_000, memory: { maxOldGenerationSizeMb: 16 } }

it('reuses a thread, and starts another only for concurrent requests', async () => {
  const ask = openThreadPool(module, limits)
  const first = await ask('a')
  expect([await ask('b'), await ask('c')]).toEqual([first, first])
  const both = await Promise.all([ask('d'), ask('e')])
  expect(new Set(both).size).toBe(2)
  expect(both).toContain(await ask('f'))
})

it.each([
  ['throw', 'thrown'],
  ['exit', 'The thread exited without an answer.'],
  ['loop', 'There was no answer within 1000 ms.'],
])('rejects if a thread fails (%s), and replaces the thread', async (question, message) => {
  const ask = openThreadPool(module, { ...limits, deadlineMs: 1000 })
  const first = await ask('a')
  await expect(ask(question)).rejects.toMatchObject({ message, wasAtWork: true })
  const second = await ask('b')
  expect(second).not.toBe(first)
  expect(await ask('c')).toBe(second)
})

it('waits for a thread that gets little CPU time', async () => {
  const ask = openThreadPool(module, { ...limits, deadlineMs: 500 })
  const first = await ask('a')
  expect(await ask('late')).toBe(first)
  expect(await ask('b')).toBe(first)
})

it('rejects if no thread can be started', async () => {
  const ask = openThreadPool(new URL('data:text/javascript,throw new Error("cannot start")'), limits)
  await expect(ask('a')).rejects.toMatchObject({ message: 'cannot start', wasAtWork: false })
})

it('fails with 503 and a retry time if a password cannot be checked', async () => {
  const ask = passwordThreads(module, { deadlineMs: 1000, maxHeapMb: 16 })
  await expect(ask('throw')).rejects.toMatchObject({ code: 'ServiceUnavailable', retryAfter: 60, cause: { message: 'thrown' } })
})

it('stops an idle thread', async () => {
  const ask = openThreadPool(module, { ...limits, idleMs: 10 })
  const first = await ask('a')
  await wait(200)
  expect(await ask('b')).not.toBe(first)
})

it('hashes at a slightly lower priority than requests, and does not keep the process alive', async () => {
  const program = `
    import { readdirSync, readFileSync } from 'node:fs'
    import { getPriority } from 'node:os'
    import { hashPassword } from './server/accounts/users/hashing.ts'
    const hash = await hashPassword({ ip: '192.0.2.1', config: { BCRYPT_COST: 4 }, state: {} }, 'a fine password')
    const nice = (id) => Number(readFileSync('/proc/self/task/' + id + '/stat', 'utf8').replace(/^.*\\) /s, '').split(' ')[16])
    console.log(JSON.stringify({ hash, own: getPriority(), all: process.platform === 'linux' ? readdirSync('/proc/self/task').map(nice) : [] }))`
  const started = performance.now()
  const { stdout } = await promisify(execFile)(process.execPath, ['--eval', program])
  const { hash, own, all } = JSON.parse(stdout)
  expect(hash).toMatch(/^\$2b\$04\$/)
  if (process.platform === 'linux') expect(all.filter((nice: number) => nice > own)).toEqual([Math.min(own + 3, 19)])
  // An idle thread would exit after a minute.
  expect(performance.now() - started).toBeLessThan(30_000)
})
