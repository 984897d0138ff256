import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { readConfig } from '../../../server/platform/config/config.ts'
import { isListed, publicOnly } from '../../../server/platform/outbound/addresses.ts'
import { proxyFor } from '../../../server/platform/outbound/proxy.ts'
import { requestUrl } from '../../../server/platform/outbound/request.ts'

const needed = { SERVER_URL: 'http://localhost:8080', JWT_SECRET: 'a secret for tests that is long enough' }
const routeOf = (env: Record<string, string>, url: string) => proxyFor(readConfig({ ...needed, ...env }), new URL(url))?.origin ?? 'direct'

it.each([
  ['example.com', 'https://example.com/'],
  ['example.com', 'https://sub.example.com/'],
  ['.example.com', 'https://sub.example.com/'],
  ['*.example.com', 'https://sub.example.com/'],
  [' a.test , EXAMPLE.com', 'https://example.com./'],
  ['*', 'https://pub.dev/'],
  ['example.com:8443', 'https://example.com:8443/'],
  ['10.0.0.0/8', 'https://10.1.2.3/'],
  ['10.1.2.3', 'https://10.1.2.3:9000/'],
  ['[fd00::1]:443', 'https://[fd00::1]/'],
  ['fd00::/8', 'https://[fd12::1]/'],
  ['', 'https://localhost:1/'],
  ['', 'https://127.0.0.2/'],
  ['', 'https://[::1]/'],
])('contacts hosts in NO_PROXY=%s directly: %s', (exceptions, url) => {
  expect(routeOf({ HTTPS_PROXY: 'http://proxy.test:3128', NO_PROXY: exceptions }, url)).toBe('direct')
})

it.each([
  ['example.com', 'https://notexample.com/'],
  ['example.com:8443', 'https://example.com/'],
  ['10.0.0.0/8', 'https://11.1.2.3/'],
  ['', 'https://pub.dev/'],
])('contacts other hosts through the proxy with NO_PROXY=%s: %s', (exceptions, url) => {
  expect(routeOf({ https_proxy: 'proxy.test:3128', HTTPS_PROXY: 'http://other.test', NO_PROXY: exceptions }, url)).toBe(
    'http://proxy.test:3128',
  )
})

it.each(['socks5://proxy', 'http://u:secret%zz@proxy', 'http://proxy/path', 'http://:bad:port'])('rejects the proxy %s', (value) => {
  expect(() => readConfig({ ...needed, HTTPS_PROXY: value })).toThrow(/^HTTPS_PROXY: (?!.*secret)/)
})

it('recognizes the status 401 with which Tinyproxy rejects a wrong password', async () => {
  const server = createServer((_request, response) => void response.writeHead(401, { server: 'tinyproxy/1.11.1' }).end()).listen(
    0,
    '127.0.0.1',
  )
  server.on('connect', (_request, socket) => void socket.end('HTTP/1.0 401 Unauthorized\r\nServer: tinyproxy/1.11.1\r\n\r\n'))
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const proxy = `http://u:p@127.0.0.1:${(server.address() as AddressInfo).port}`
  const proxies = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy }
  for (const [scheme, setting] of [
    ['http', 'HTTP_PROXY'],
    ['https', 'HTTPS_PROXY'],
  ]) {
    const asked = { servers: ['127.0.0.1:1'], proxies, isAllowed: publicOnly, signal: AbortSignal.timeout(20_000) }
    await expect(requestUrl(`${scheme}://packages.example/x`, asked)).rejects.toThrow(
      `does not accept the user name and password (status 401): check ${setting}`,
    )
  }
})

it('sends credentials to the proxy, never asks it for private hosts, and names it in failures', async () => {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.url} ${request.headers['proxy-authorization']}`)
    response.writeHead(request.headers['proxy-authorization'] === 'Basic dTpwQHM=' ? 200 : 407).end('ok')
  }).listen(0, '127.0.0.1')
  server.on('connect', (request, socket) => {
    seen.push(`CONNECT ${request.url}`)
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
  })
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const ask = (url: string, credentials: string) => {
    const proxies = { HTTP_PROXY: `http://${credentials}@127.0.0.1:${port}`, HTTPS_PROXY: `http://${credentials}@127.0.0.1:${port}` }
    return requestUrl(url, { servers: ['127.0.0.1:1'], proxies, isAllowed: publicOnly, signal: AbortSignal.timeout(20_000) })
  }
  expect((await ask('http://packages.example/x', 'u:p%40s')).statusCode).toBe(200)
  expect(seen).toEqual(['http://packages.example/x Basic dTpwQHM='])
  const refusal = `the proxy http://127.0.0.1:${port} does not accept the user name and password (status 407)`
  await expect(ask('http://packages.example/x', 'u:wrong')).rejects.toThrow(`${refusal}: check HTTP_PROXY`)
  await expect(ask('https://packages.example/x', 'u:wrong')).rejects.toThrow(`${refusal}: check HTTPS_PROXY`)
  const before = seen.length
  for (const host of ['10.0.0.1', '169.254.169.254', 'metadata.google.internal', 'intranet'])
    await expect(ask(`http://${host}/`, 'u:p%40s')).rejects.toThrow('may not be contacted')
  expect(seen.length).toBe(before)
})

it.each([
  ['gitlab.internal', 'https://gitlab.internal/', true],
  ['gitlab.internal', 'http://gitlab.internal/', true],
  ['gitlab.internal', 'https://gitlab.internal./', true],
  ['gitlab.internal', 'http://gitlab.internal:443/', true],
  ['gitlab.internal', 'https://gitlab.internal:8443/', false],
  ['gitlab.internal', 'https://a.gitlab.internal/', false],
  ['gitlab.internal:443', 'https://gitlab.internal/', true],
  ['gitlab.internal:443', 'http://gitlab.internal/', false],
  ['gitlab.internal:8443', 'https://gitlab.internal:8443/', true],
  ['gitlab.internal:8443', 'https://gitlab.internal/', false],
  ['GitLab.Internal:8443', 'https://gitlab.internal:8443/', true],
  ['10.0.0.5:9000', 'http://10.0.0.5:9000/', true],
  ['10.0.0.5', 'https://10.0.0.6/', false],
  ['[fd00::1]', 'https://[fd00:0:0::1]/', true],
  ['[fd00::1]:8443', 'https://[fd00::1]:8443/', true],
  ['[fd00::1]:8443', 'https://[fd00::1]/', false],
])('TOKEN_ISSUER_HOSTS=%s and %s: %s', (hosts, url, expected) => {
  expect(isListed(readConfig({ ...needed, TOKEN_ISSUER_HOSTS: hosts }).TOKEN_ISSUER_HOSTS, new URL(url))).toBe(expected)
})
