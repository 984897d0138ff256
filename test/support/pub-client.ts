import { createHash, randomBytes } from 'node:crypto'
import { Agent, request, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { crc32c, encodeCrc32c } from '../../server/platform/blobs/measured.ts'

export type PubAnswer = { status: number; headers: IncomingHttpHeaders; body: Buffer }

/** Error that `dart pub` would show to its user. */
export class PubFailure extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

type Options = {
  /** Hosted URL as the user entered it. The token is only sent to URLs below it. */
  hostedUrl: string
  /** Address to connect to for the hosted URL, in place of DNS and a proxy. */
  address: string
  token?: string
  /** SERVER_URL of the server, if it differs from the hosted URL. The token is not sent there. */
  serverUrl?: string
  /** Agent for persistent connections. Without it, each request opens a new connection. */
  agent?: Agent
}

/** Client that behaves like `dart pub`: the same headers, upload form, redirects and validation. */
export class PubClient {
  private readonly options: Options
  constructor(options: Options) {
    this.options = options
  }

  /** Reports whether the client still has its token. Responses with status 401 remove it. */
  get hasToken(): boolean {
    return this.options.token !== undefined
  }

  /** Fetches the listing of a package. Throws on invalid entries, as `dart pub` does. */
  async listing(name: string): Promise<PubListing> {
    const answer = await this.get(`${this.options.hostedUrl}/api/packages/${name}`, { accept: mediaType })
    // Without a charset, the client would decode the body as Latin-1.
    if (!/charset="?utf-8/i.test(answer.headers['content-type'] ?? '')) throw new PubFailure(answer.status, 'no charset')
    const listing = JSON.parse(answer.body.toString()) as PubListing
    for (const version of listing.versions) check(name, version)
    checkPackage(listing)
    return listing
  }

  /** Downloads the archive of a version and verifies its checksums. */
  async download(name: string, version: string): Promise<Buffer> {
    const { versions } = await this.listing(name)
    const entry = versions.find((one) => one.version === version)
    if (!entry) throw new PubFailure(404, `no ${name} ${version}`)
    return this.archive(entry)
  }

  /** Downloads the archive of an entry of a listing and verifies its checksums. */
  async archive(entry: PubVersion): Promise<Buffer> {
    const answer = await this.get(entry.archive_url)
    const sha256 = createHash('sha256').update(answer.body).digest('hex')
    if (entry.archive_sha256 !== sha256) throw new PubFailure(200, 'the sha256 does not match')
    const hashes = String(answer.headers['x-goog-hash'] ?? '').split(',')
    const expected = hashes.find((hash) => hash.startsWith('crc32c='))?.slice('crc32c='.length)
    if (expected !== undefined && expected !== encodeCrc32c(crc32c(answer.body))) throw new PubFailure(200, 'the crc32c does not match')
    return answer.body
  }

  /** Fetches the advisories of a package. The client does so only if the listing has `advisoriesUpdated`. */
  async advisories(name: string): Promise<PubAdvisory[]> {
    const answer = await this.get(`${this.options.hostedUrl}/api/packages/${name}/advisories`, { accept: mediaType })
    const { advisories, advisoriesUpdated } = JSON.parse(answer.body.toString()) as {
      advisories: PubAdvisory[]
      advisoriesUpdated: unknown
    }
    if (!isDate(advisoriesUpdated)) throw new PubFailure(200, 'advisoriesUpdated must be a String')
    return advisories
  }

  /** Publishes an archive and returns the success message. All requests use one connection, which is closed afterwards, as in `dart pub publish`. */
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

  /** Sends the upload form and returns the URL of the last step. */
  async upload(url: string, fields: Record<string, string>, archive: Buffer): Promise<string> {
    const { body, contentType } = pubForm(fields, archive)
    const answer = await this.send('POST', url, { 'content-type': contentType, 'content-length': body.length }, body)
    const location = answer.headers.location
    if (answer.status < 200 || answer.status >= 400 || !location) throw uploadFailure(answer)
    if (!URL.canParse(location)) throw new PubFailure(answer.status, 'Location is not absolute')
    return location
  }

  /** Sends a GET request and follows up to five redirects. */
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
          // The client deletes its token after any response with status 401.
          if (response.statusCode === 401) delete this.options.token
          const content = response.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: content })
        }, reject)
      })
      outgoing.end(body)
    })
  }
}

export type PubVersion = {
  version: string
  retracted?: boolean
  archive_url: string
  archive_sha256: string
  pubspec: Record<string, unknown>
  published: string
}

/** Optional fields are left out rather than null. */
export type PubListing = {
  name: string
  versions: PubVersion[]
  latest: PubVersion
  isDiscontinued?: boolean
  replacedBy?: string
  advisoriesUpdated?: string
}

export type PubAdvisory = {
  id: string
  summary: string
  aliases: string[]
  affected: { package: { name: string; ecosystem: string }; versions: string[] }[]
}

const mediaType = 'application/vnd.pub.v2+json'

/** Throws if a field of an entry has the wrong type, which makes the client reject the whole listing. */
function check(name: string, { version, retracted, archive_url: url, archive_sha256: sha256, pubspec }: PubVersion): void {
  const fits =
    pubspec.name === name &&
    pubspec.version === version &&
    typeof url === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    (retracted === undefined || typeof retracted === 'boolean')
  if (!fits) throw new PubFailure(200, `the entry of ${version} is malformed`)
}

/** Throws if a field of the package has the wrong type. */
function checkPackage({ isDiscontinued, replacedBy, advisoriesUpdated }: PubListing): void {
  const fits =
    (isDiscontinued === undefined || typeof isDiscontinued === 'boolean') &&
    (replacedBy === undefined || typeof replacedBy === 'string') &&
    (advisoriesUpdated === undefined || isDate(advisoriesUpdated))
  if (!fits) throw new PubFailure(200, 'the listing is malformed')
}

const isDate = (value: unknown): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value))

/** Returns a form in the format of Dart's MultipartRequest. */
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

/** Reads an error of the upload URL: the client shows the text of the Message element if the body contains XML. */
function uploadFailure(answer: PubAnswer): PubFailure {
  if (answer.status === 401 || answer.status === 403) return failure(answer)
  const text = answer.body.toString()
  const message = text.includes('<?xml') ? /<Message>(.*)<\/Message>/.exec(text)?.[1] : undefined
  return new PubFailure(answer.status, message ?? 'Failed to upload the package.')
}

/** Reads an error: the client shows the message of the challenge for 401 and 403, and of the JSON body for other statuses. */
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
