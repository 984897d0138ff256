import { spawn } from 'node:child_process'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { smallVolume } from '../support/small-volume.ts'
import { folderForTest, json, ownersToken, type Server, start } from '../support/server-process.ts'

/** Returns a function that creates a token, which inserts a row and an audit entry in one transaction, and returns the response. */
const writer =
  ({ url }: Server, authorization: string) =>
  async () => {
    const answer = await fetch(`${url}/api/auth/keys`, {
      method: 'POST',
      body: JSON.stringify({ name: 'x'.repeat(90), scopes: ['read'] }),
      headers: { authorization, 'content-type': 'application/json' },
    })
    return { status: answer.status, code: (await answer.json()).error?.code, retryAfter: answer.headers.get('retry-after') }
  }

const tokensOf = async ({ url }: Server, authorization: string): Promise<number> =>
  (await json(`${url}/api/auth/keys`, undefined, { authorization })).body.keys.length

it('writes again within five seconds after a full disk has free space, and answers 503 until then', async () => {
  const data = smallVolume(8192)
  const server = await start(folderForTest(), { SQLITE_PATH: join(data, 'registry.sqlite'), MIN_FREE_BYTES: '0' })
  const authorization = `Bearer ${await ownersToken(server)}`
  const write = writer(server, authorization)
  for (let round = 0; round < 3; round++) {
    const { bavail, bsize } = statfsSync(data)
    writeFileSync(join(data, 'ballast'), Buffer.alloc(Math.max(0, bavail * bsize - 20_000)))
    const statuses: number[] = []
    for (let tries = 0; tries < 200 && !statuses.includes(503); tries++) {
      const { status, code, retryAfter } = await write()
      statuses.push(status)
      if (status === 503) expect({ code, retryAfter }).toEqual({ code: 'ServiceUnavailable', retryAfter: '60' })
    }
    expect(statuses.filter((status) => status !== 201 && status !== 503)).toEqual([])
    expect(statuses).toContain(503)
    const before = await tokensOf(server, authorization)
    expect(await write()).toMatchObject({ status: 503 })
    rmSync(join(data, 'ballast'))
    const started = performance.now()
    await expect.poll(async () => (await write()).status, { timeout: 5000 }).toBe(201)
    expect(performance.now() - started).toBeLessThan(5000)
    expect(await tokensOf(server, authorization)).toBe(before + 1)
  }
  const { body } = await json(`${server.url}/api/v1/health`)
  expect(body.status).toBe('ok')
})

it('writes again within five seconds after disk errors during a commit', async () => {
  const server = await start(folderForTest())
  const authorization = `Bearer ${await ownersToken(server)}`
  const write = writer(server, authorization)
  for (const inject of ['fsync,fdatasync:error=EIO', 'pwrite64:error=EIO', 'pwrite64:error=ENOSPC']) {
    const before = await tokensOf(server, authorization)
    const calls = inject.split(':', 1)[0]
    const tracer = spawn('strace', [
      '-f',
      '-p',
      String(server.process.pid),
      '-o',
      '/dev/null',
      '-e',
      `trace=${calls}`,
      '-e',
      `inject=${inject}`,
    ])
    const statuses: number[] = []
    await expect.poll(async () => statuses[statuses.push((await write()).status) - 1], { timeout: 20_000 }).toBe(503)
    for (let round = 0; round < 5; round++) statuses.push((await write()).status)
    expect(new Set(statuses.slice(statuses.indexOf(503)))).toEqual(new Set([503]))
    tracer.kill('SIGINT')
    await new Promise((resolve) => tracer.once('exit', resolve))
    const started = performance.now()
    await expect.poll(async () => (await write()).status, { timeout: 5000 }).toBe(201)
    expect(performance.now() - started).toBeLessThan(5000)
    const succeeded = statuses.filter((status) => status === 201).length + 1
    expect(await tokensOf(server, authorization)).toBe(before + succeeded)
  }
})
