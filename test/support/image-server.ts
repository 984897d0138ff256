import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Guard } from '../../server/platform/outbound/addresses.ts'
import type { TestApp } from '../app.ts'
import { startDns } from './dns-server.ts'

/** Starts an HTTP server for images at an address of this machine and records its requests. */
export async function startImages(listener: RequestListener, { host = '127.0.0.1', port = 0 } = {}) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    listener(request, response)
  }).listen(port, host)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { requests, port: (server.address() as AddressInfo).port }
}

/** Allows the server to fetch images from these addresses of this machine, which it refuses otherwise. */
export function allowImagesFrom(app: TestApp, isAllowed: Guard, timeoutMs = 5000): void {
  for (const { services } of app.instances) services.state.imageRules = { isAllowed, timeoutMs }
}

/** Starts a DNS server until the end of the test. */
export async function testDns() {
  const dns = await startDns()
  onTestFinished(() => dns[Symbol.asyncDispose]())
  return dns
}
