import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { gzipSync } from 'node:zlib'
import { crc32c, encodeCrc32c } from '../../server/platform/blobs/measured.ts'
import type { UpstreamAnswer, UpstreamFault } from './upstream-faults.ts'
import { advisoryFor, type AdvisoryOptions, sha256Of, UpstreamPackage, UpstreamVersion, type VersionOptions } from './upstream-packages.ts'

type UpstreamRequest = { method: string; path: string; headers: IncomingHttpHeaders; status: number }
type Hold = { arrived: Promise<void>; release: () => void }

/** A package server on this machine that answers like pub.dev. Tests change its packages, make it fail and inspect the requests it received. */
export class Upstream {
  readonly packages = new Map<string, UpstreamPackage>()
  /** All requests in order of arrival. */
  readonly requests: UpstreamRequest[] = []
  url = ''
  private server: Server | undefined
  private port = 0
  private host = '127.0.0.1'
  private readonly faults = new Map<string, UpstreamFault>()
  private readonly holds = new Map<string, { arrive: () => void; released: Promise<void> }>()

  /** Starts a server that ends with the test, at an address of this machine. */
  static async start(host = '127.0.0.1'): Promise<Upstream> {
    const upstream = new Upstream()
    upstream.host = host
    await upstream.listen()
    onTestFinished(() => upstream.stop())
    return upstream
  }

  /** Starts again on the same port after `stop`. */
  async listen(): Promise<void> {
    this.server = createServer((request, response) => void this.serve(request, response))
    this.server.listen(this.port, this.host)
    await once(this.server, 'listening')
    this.port = (this.server.address() as AddressInfo).port
    this.url = `http://${this.host}:${this.port}`
  }

  /** Stops listening and closes all connections. */
  async stop(): Promise<void> {
    const server = this.server
    this.server = undefined
    if (!server) return
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  /** Publishes a version, or replaces its content. Creates the package if necessary. */
  publish(name: string, version: string, options: VersionOptions = {}): UpstreamVersion {
    const made = new UpstreamVersion(name, version, options)
    const known = this.packages.get(name) ?? new UpstreamPackage(name)
    this.packages.set(name, known)
    known.versions.set(version, made)
    return made
  }

  package(name: string): UpstreamPackage {
    const found = this.packages.get(name)
    if (!found) throw new Error(`There is no upstream package ${name}.`)
    return found
  }

  version(name: string, version: string): UpstreamVersion {
    const found = this.package(name).versions.get(version)
    if (!found) throw new Error(`There is no upstream version ${name} ${version}.`)
    return found
  }

  retract(name: string, version: string): void {
    this.version(name, version).isRetracted = true
  }

  discontinue(name: string, replacedBy: string | null = null): void {
    Object.assign(this.package(name), { isDiscontinued: true, replacedBy })
  }

  /** Publishes an advisory. */
  advise(name: string, options: AdvisoryOptions): void {
    const found = this.package(name)
    found.advisories.push(advisoryFor(name, options))
    found.advisoriesUpdated = options.modified ?? new Date('2025-03-04T05:06:07Z')
  }

  remove(name: string): void {
    this.packages.delete(name)
  }

  /** Answers requests to a path with a fault until `heal`. */
  fail(path: string, fault: UpstreamFault): void {
    this.faults.set(path, fault)
  }

  heal(path: string): void {
    this.faults.delete(path)
  }

  /** Holds requests to a path until `release`. `arrived` resolves when the first one waits. */
  hold(path: string): Hold {
    const arrived = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    this.holds.set(path, { arrive: arrived.resolve, released: released.promise })
    const release = () => {
      this.holds.delete(path)
      released.resolve()
    }
    onTestFinished(release)
    return { arrived: arrived.promise, release }
  }

  /** Counts the requests to a path, or to all paths. */
  count = (path?: string): number => this.requestsTo(path).length

  requestsTo = (path?: string): UpstreamRequest[] => this.requests.filter((request) => path === undefined || request.path === path)

  /** Returns whether any request mentioned a name. */
  mentions = (name: string): boolean => this.requests.some(({ path }) => path.includes(name))

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/'
    const entry: UpstreamRequest = { method: request.method ?? '', path, headers: request.headers, status: 0 }
    this.requests.push(entry)
    response.on('finish', () => (entry.status = response.statusCode))
    response.on('error', () => {}) // the client went away
    const hold = this.holds.get(path)
    hold?.arrive()
    await hold?.released
    const answer = await this.answerTo(path)
    const fault = this.faults.get(path)
    if (fault) return fault(request, response, answer)
    sendAnswer(request, response, answer)
  }

  private async answerTo(path: string): Promise<UpstreamAnswer> {
    const archive = /^\/(?:api\/archives\/([a-z0-9_]+)-|packages\/([a-z0-9_]+)\/versions\/)(.+)\.tar\.gz$/.exec(path)
    if (archive) return this.archiveAnswer(archive[1] ?? archive[2] ?? '', decodeURIComponent(archive[3] ?? ''))
    if (path === '/api/package-name-completion-data') return jsonAnswer({ packages: [...this.packages.keys()].toSorted() })
    const [, name = '', rest = ''] = /^\/api\/packages\/([^/]+)(\/.*)?$/.exec(path) ?? []
    const found = this.packages.get(name)
    const document = found && (await this.documentOf(found, rest))
    return document ? jsonAnswer(document) : notFound(`Could not find \`package "${name}"\`.`)
  }

  private async documentOf(found: UpstreamPackage, rest: string): Promise<object | undefined> {
    if (rest === '') return found.listing(this.url)
    if (rest === '/advisories') return found.advisoriesDocument()
    if (rest === '/score') return found.score()
    if (rest === '/options') return found.options()
    if (rest === '/publisher') return { publisherId: found.publisher }
    const [, named = '', attestation] = /^\/versions\/([^/]+)(\/attestation)?$/.exec(rest) ?? []
    const version = found.versions.get(decodeURIComponent(named))
    if (attestation !== undefined) return version?.attestation ?? undefined
    return version && found.versionDocument(version, this.url)
  }

  private async archiveAnswer(name: string, version: string): Promise<UpstreamAnswer> {
    const body = await this.packages.get(name)?.versions.get(version)?.archive()
    if (!body) return notFound('Not found.')
    const hash = `crc32c=${encodeCrc32c(crc32c(body))}`
    return { status: 200, headers: { 'content-type': 'application/octet-stream', 'x-goog-hash': hash, etag: etagOf(body) }, body }
  }
}

function sendAnswer(request: IncomingMessage, response: ServerResponse, { status, headers, body }: UpstreamAnswer): void {
  if (headers.etag !== undefined && request.headers['if-none-match'] === headers.etag) {
    response.writeHead(304, { etag: headers.etag }).end()
    return
  }
  const isJson = headers['content-type']?.startsWith('application/json')
  const zips = isJson && /\bgzip\b/.test(String(request.headers['accept-encoding']))
  const content = zips ? gzipSync(body) : body
  response.writeHead(status, { ...headers, ...(zips && { 'content-encoding': 'gzip' }), 'content-length': String(content.length) })
  response.end(request.method === 'HEAD' ? undefined : content)
}

function jsonAnswer(document: object, status = 200): UpstreamAnswer {
  const body = Buffer.from(JSON.stringify(document))
  return { status, headers: { 'content-type': 'application/json; charset="utf-8"', ...(status === 200 && { etag: etagOf(body) }) }, body }
}

/** An error as pub.dev sends it: code and message are in the body twice. */
function notFound(message: string): UpstreamAnswer {
  const error = { code: 'NotFound', message }
  return jsonAnswer({ error, ...error }, 404)
}

const etagOf = (body: Buffer): string => `"${sha256Of(body).slice(0, 32)}"`
