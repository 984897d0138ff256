import { createHash, randomBytes } from 'node:crypto'
import { Agent, request, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { crc32c, encodeCrc32c } from '../../server/blobs/crc32c.ts'

export type PubAnswer = { status: number; headers: IncomingHttpHeaders; body: Buffer }

/** What the package client shows its user when it gives up. */
export class PubFailure extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

type Options = {
  /** The hosted URL, as the user wrote it; the token goes to addresses below it and nowhere else. */
  hostedUrl: string
  /** Where the hosted URL really is: what a name server and a proxy would tell. */
  address: string
  token?: string
  /** How the server spells its own address, where the user spelled it differently: no token goes there. */
  serverUrl?: string
  /** What keeps the connection; without one, each request has its own. */
  agent?: Agent
}

/** Speaks to a registry as `dart pub` does: its headers, its form, its redirects, its checks (pub's protocol). */
export class PubClient {
  private readonly options: Options
  constructor(options: Options) {
    this.options = options
  }

  /** Whether the client still has its token. */
  get hasToken(): boolean {
    return this.options.token !== undefined
  }

  /** The listing of a package; what does not fit breaks it, as it does for the user. */
  async listing(name: string): Promise<{ versions: PubVersion[]; latest: PubVersion }> {
    const answer = await this.get(`${this.options.hostedUrl}/api/packages/${name}`, { accept: mediaType })
    // Without a charset the client would read latin1.
    if (!/charset=utf-8/i.test(answer.headers['content-type'] ?? '')) throw new PubFailure(answer.status, 'no charset')
    const listing = JSON.parse(answer.body.toString()) as { versions: PubVersion[]; latest: PubVersion }
    for (const version of listing.versions) check(name, version)
    return listing
  }

  /** The archive of a version, its checksums compared. */
  async download(name: string, version: string): Promise<Buffer> {
    const { versions } = await this.listing(name)
    const entry = versions.find((one) => one.version === version)
    if (!entry) throw new PubFailure(404, `no ${name} ${version}`)
    const answer = await this.get(entry.archive_url)
    const sha256 = createHash('sha256').update(answer.body).digest('hex')
    if (entry.archive_sha256 !== sha256) throw new PubFailure(200, 'the sha256 does not fit')
    const hashes = String(answer.headers['x-goog-hash'] ?? '').split(',')
    const expected = hashes.find((hash) => hash.startsWith('crc32c='))?.slice('crc32c='.length)
    if (expected !== undefined && expected !== encodeCrc32c(crc32c(answer.body))) throw new PubFailure(200, 'the crc32c does not fit')
    return answer.body
  }

  /** Publishes; gives the message that the user sees. A run of the client sends all of it over one connection, which ends with it. */
  async publish(archive: Buffer): Promise<string> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const run = new PubClient({ ...this.options, agent })
    try {
      return await run.runPublish(archive)
    } finally {
      if (!run.hasToken) delete this.options.token
      agent.destroy()
    }
  }

  private async runPublish(archive: Buffer): Promise<string> {
    const { hostedUrl } = this.options
    const { url, fields } = JSON.parse(
      (await this.get(`${hostedUrl}/api/packages/versions/new`, { accept: mediaType })).body.toString(),
    ) as { url: string; fields: Record<string, string> }
    const location = await this.upload(url, fields, archive)
    const { success } = JSON.parse((await this.get(location, { accept: mediaType })).body.toString()) as { success: { message: string } }
    return success.message
  }

  /** Sends the form; gives the address of the last step. */
  async upload(url: string, fields: Record<string, string>, archive: Buffer): Promise<string> {
    const { body, contentType } = pubForm(fields, archive)
    const answer = await this.send('POST', url, { 'content-type': contentType, 'content-length': body.length }, body)
    const location = answer.headers.location
    if (answer.status < 200 || answer.status >= 400 || !location) throw uploadFailure(answer)
    if (!URL.canParse(location)) throw new PubFailure(answer.status, 'Location is not absolute')
    return location
  }

  /** A GET that follows at most five redirects. */
  async get(url: string, headers: OutgoingHttpHeaders = {}): Promise<PubAnswer> {
    let target = url
    for (let redirects = 0; redirects <= 5; redirects++) {
      const answer = await this.send('GET', target, headers)
      if (![301, 302, 303, 307, 308].includes(answer.status)) {
        if (answer.status !== 200) throw failure(answer)
        return answer
      }
      target = new URL(answer.headers.location ?? '', target).href
    }
    throw new PubFailure(310, 'too many redirects')
  }

  private async send(method: string, url: string, headers: OutgoingHttpHeaders, body?: Buffer): Promise<PubAnswer> {
    const { hostedUrl, serverUrl = hostedUrl, address, agent } = this.options
    const base = [hostedUrl, serverUrl].find((one) => url.startsWith(`${one}/`))
    if (base === undefined) throw new PubFailure(0, `${url} is not below ${hostedUrl}`)
    const token = base === hostedUrl && this.options.token
    const outgoing = request(`${address}${url.slice(base.length)}`, {
      method,
      agent: agent ?? false,
      headers: {
        'user-agent': 'Dart pub 3.9.0',
        'accept-encoding': 'gzip',
        ...(token && { authorization: `Bearer ${token}` }),
        ...headers,
      },
    })
    return new Promise((resolve, reject) => {
      outgoing.on('error', reject)
      outgoing.on('response', (response) => {
        buffer(response).then((raw) => {
          // Any 401 makes the client delete its token.
          if (response.statusCode === 401) delete this.options.token
          const content = response.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: content })
        }, reject)
      })
      outgoing.end(body)
    })
  }
}

type PubVersion = {
  version: string
  retracted?: boolean
  archive_url: string
  archive_sha256: string
  pubspec: Record<string, unknown>
  published: string
}

const mediaType = 'application/vnd.pub.v2+json'

/** One wrong type breaks the whole listing. */
function check(name: string, { version, retracted, archive_url: url, archive_sha256: sha256, pubspec }: PubVersion): void {
  const fits =
    pubspec.name === name &&
    pubspec.version === version &&
    typeof url === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    (retracted === undefined || typeof retracted === 'boolean')
  if (!fits) throw new PubFailure(200, `the entry of ${version} is malformed`)
}

/** A form as Dart's MultipartRequest writes it. */
export function pubForm(fields: Record<string, string>, archive: Buffer): { body: Buffer; contentType: string } {
  const boundary = `dart-http-boundary-${randomBytes(25).toString('hex')}`
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const file = `--${boundary}\r\ncontent-type: application/octet-stream\r\ncontent-disposition: form-data; name="file"; filename="package.tar.gz"\r\n\r\n`
  return {
    body: Buffer.concat([Buffer.from(parts.join('') + file), archive, Buffer.from(`\r\n--${boundary}--\r\n`)]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  }
}

/** At the upload URL the client reads XML, wherever it is in the body, and shows what is between its tags on one line. */
function uploadFailure(answer: PubAnswer): PubFailure {
  if (answer.status === 401 || answer.status === 403) return failure(answer)
  const text = answer.body.toString()
  const message = text.includes('<?xml') ? /<Message>(.*)<\/Message>/.exec(text)?.[1] : undefined
  return new PubFailure(answer.status, message ?? 'Failed to upload the package.')
}

/** The client reads the challenge of a 401 or 403, and the envelope of everything else. */
function failure({ status, headers, body }: PubAnswer): PubFailure {
  if (status === 401 || status === 403) {
    const challenge = /^Bearer realm="pub", message="((?:[^"\\]|\\.)*)"$/.exec(headers['www-authenticate'] ?? '')?.[1]
    return new PubFailure(status, challenge?.replace(/\\(.)/g, '$1') ?? 'no challenge')
  }
  try {
    return new PubFailure(status, (JSON.parse(body.toString()) as { error: { message: string } }).error.message)
  } catch {
    return new PubFailure(status, body.toString())
  }
}
