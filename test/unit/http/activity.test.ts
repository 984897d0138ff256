import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { trackActivity } from '../../../server/platform/http/connections/sockets.ts'

it('considers a server in use until one second after the last request', async () => {
  const server = createServer((_request, response) => void response.end())
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const isInUse = trackActivity(server)
  expect(isInUse()).toBe(false)
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  expect(isInUse()).toBe(true)
  vi.advanceTimersByTime(999)
  expect(isInUse()).toBe(true)
  vi.advanceTimersByTime(2)
  expect(isInUse()).toBe(false)
})
