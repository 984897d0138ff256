import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { dartFiles, flutterFiles, tarXzOf, zipOf } from './sdk-archives.ts'

const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const platform = `linux-${process.arch}`

/** Handles a request instead of the site. Returns whether it did. */
type Interference = (request: IncomingMessage, response: ServerResponse, file: Buffer | undefined) => boolean

/** Site with the layouts of the Dart and Flutter archives on Google Cloud Storage. */
export class SdkSite {
  readonly files = new Map<string, Buffer>()
  /** Received requests: method, path and range. */
  readonly requests: string[] = []
  /** Overrides responses to simulate faults. */
  interfere: Interference = () => false
  readonly #flutter: object[] = []
  readonly #url: string

  private constructor(url: string) {
    this.#url = url
  }

  static async open(): Promise<SdkSite> {
    const server = createServer((request, response) => site.#answer(request, response)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const site = new SdkSite(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    onTestFinished(() => void (server.closeAllConnections(), server.close()))
    return site
  }

  /** Environment variables of a server that installs SDKs from this site. */
  get env(): Record<string, string> {
    return {
      SDK_ARCHIVE_URL: `${this.#url}/dart-archive`,
      FLUTTER_ARCHIVE_URL: `${this.#url}/flutter`,
      SDK_PUB_HOSTED_URL: this.#url,
      MIN_FREE_BYTES: '0',
    }
  }

  /** Publishes a Dart release and returns the path of its zip. `archive` replaces the generated zip of a small SDK. */
  async addDart(version: string, { channel = 'stable', archive, sha256 }: { channel?: string; archive?: Buffer; sha256?: string } = {}) {
    const folder = `/dart-archive/channels/${channel}/release/${version}`
    const path = `${folder}/sdk/dartsdk-${platform}-release.zip`
    const bytes = archive ?? (await zipOf(dartFiles(version)))
    this.files.set(path, bytes)
    this.files.set(`${path}.sha256sum`, Buffer.from(`${sha256 ?? hash(bytes)} *dartsdk-${platform}-release.zip\n`))
    this.files.set(`${folder}/VERSION`, Buffer.from(JSON.stringify({ date: '2026-08-06', version, revision: 'abc' })))
    return path
  }

  /** Publishes a Flutter release and returns the path of its archive. */
  async addFlutter(version: string, dartVersion: string, { channel = 'stable', archive }: { channel?: string; archive?: Buffer } = {}) {
    const bytes = archive ?? (await tarXzOf(flutterFiles(version, dartVersion)))
    const path = `${channel}/linux/flutter_linux_${version}-${channel}.tar.xz`
    this.files.set(`/flutter/${path}`, bytes)
    this.#flutter.push({
      hash: 'def',
      channel,
      version,
      dart_sdk_version: dartVersion,
      dart_sdk_arch: process.arch,
      release_date: '2026-08-07T17:39:42.000000Z',
      archive: path,
      sha256: hash(bytes),
    })
    const listing = { base_url: 'https://elsewhere.example.com', current_release: {}, releases: this.#flutter }
    this.files.set('/flutter/releases_linux.json', Buffer.from(JSON.stringify(listing)))
    return `/flutter/${path}`
  }

  etagOf = (path: string): string => `"${hash(this.files.get(path) ?? Buffer.alloc(0)).slice(0, 16)}"`

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '', this.#url)
    const { range } = request.headers
    this.requests.push([request.method, pathname, range].filter(Boolean).join(' '))
    const file = this.files.get(pathname)
    if (this.interfere(request, response, file)) return
    if (pathname === '/dart-archive') return void response.end(this.#list(searchParams.get('prefix') ?? ''))
    if (!file) return void response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
    const etag = this.etagOf(pathname)
    const from = /^bytes=(\d+)-$/.exec(range ?? '')?.[1]
    const headers = { etag, 'accept-ranges': 'bytes' }
    if (from === undefined || request.headers['if-range'] !== etag)
      return void response.writeHead(200, { ...headers, 'content-length': file.length }).end(file)
    const part = file.subarray(Number(from))
    const contentRange = `bytes ${from}-${file.length - 1}/${file.length}`
    response.writeHead(206, { ...headers, 'content-range': contentRange, 'content-length': part.length }).end(part)
  }

  /** Lists a prefix in the format of Google Cloud Storage. */
  #list(prefix: string): string {
    const names = [...this.files.keys()].map((path) => path.replace('/dart-archive/', '')).filter((path) => path.startsWith(prefix))
    const folders = new Set([...names.map((name) => name.slice(prefix.length).split('/', 1)[0]), 'latest', '29803'])
    const prefixes = [...folders].map((name) => `<CommonPrefixes><Prefix>${prefix}${name}/</Prefix></CommonPrefixes>`).join('')
    return `<?xml version='1.0' encoding='UTF-8'?><ListBucketResult xmlns='http://doc.s3.amazonaws.com/2006-03-01'><Name>dart-archive</Name><Prefix>${prefix}</Prefix><Delimiter>/</Delimiter><IsTruncated>false</IsTruncated>${prefixes}</ListBucketResult>`
  }
}
