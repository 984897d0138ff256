import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { download } from '../../../server/analysis/sdks/installing/download.ts'
import { type Pace, watchPace } from '../../../server/platform/outbound/request.ts'

it('aborts a connection below the minimum transfer rate', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const watch = watchPace(new AbortController().signal, { bytes: 10, ms: 1000 })
  for (let round = 0; round < 5; round++) {
    vi.advanceTimersByTime(900)
    watch.received(10)
  }
  for (let round = 0; round < 9; round++) {
    vi.advanceTimersByTime(100)
    watch.received(1)
  }
  expect(watch.signal.aborted).toBe(false)
  vi.advanceTimersByTime(100)
  expect(watch.signal).toMatchObject({ aborted: true, reason: new Error('the transfer is too slow') })
})

it('aborts with its outer signal, and does not time out after it has ended', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const outer = new AbortController()
  const watches = [1, 2].map(() => watchPace(outer.signal, { bytes: 10, ms: 1000 }))
  watches[0]?.end()
  vi.advanceTimersByTime(1000)
  expect(watches.map(({ signal }) => signal.aborted)).toEqual([false, true])
  outer.abort()
  expect(watches[0]?.signal.aborted).toBe(true)
})

/** Downloads ten bytes that arrive every 40 ms and returns the number of requests. */
async function downloadSlowly(pace: Pace): Promise<{ bytes: string; requests: number }> {
  let requests = 0
  const drip = async (response: ServerResponse) => {
    response.writeHead(200, { etag: '"one"', 'content-length': 10 })
    for (let at = 0; at < 10; at++) {
      response.write(String(at))
      await setTimeout(40)
    }
    response.end()
  }
  const server = createServer((_request, response) => (requests++, void drip(response))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const folder = mkdtempSync(join(tmpdir(), 'snug-download-'))
  onTestFinished(() => (rmSync(folder, { recursive: true }), server.closeAllConnections(), void server.close()))
  const path = join(folder, 'archive')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/archive`
  const wanted = { url, sha256: createHash('sha256').update('0123456789').digest('hex'), pace }
  const listener = { signal: new AbortController().signal, addLine: () => {}, report: () => {} }
  await download({ DATA_DIR: folder, MIN_FREE_BYTES: 0 }, wanted, path, listener)
  return { bytes: readFileSync(path, 'utf8'), requests }
}

it('downloads an archive over one connection while the transfer rate is sufficient', async () => {
  expect(await downloadSlowly({ bytes: 1, ms: 350 })).toEqual({ bytes: '0123456789', requests: 1 })
})

it('aborts a download that is too slow', async () => {
  await expect(downloadSlowly({ bytes: 11, ms: 350 })).rejects.toThrow('the transfer is too slow')
})
