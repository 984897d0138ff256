import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { type Address, type Guard, resolveHost } from './addresses.ts'

/** Largest remote image in bytes. */
export const maxImageBytes = 5 * 1024 ** 2
const maxRedirects = 3

export type DownloadOptions = {
  /** DNS servers; by default, those of the system. */
  servers: readonly string[]
  /** Decides which addresses may be contacted. */
  isAllowed: Guard
  /** Limit for the whole download, including redirects, in milliseconds. */
  timeoutMs: number
}

/** Thrown when an image cannot be downloaded. `isTemporary`: a later attempt may succeed. */
export class NotDownloaded extends Error {
  readonly isTemporary: boolean

  constructor(message: string, { isTemporary = false, cause }: { isTemporary?: boolean; cause?: unknown } = {}) {
    super(message, { cause })
    this.isTemporary = isTemporary
  }
}

/**
 * Downloads a file over HTTP or HTTPS. Each host is resolved once and the connection goes to an address that was checked, also after redirects.
 * Sends no credentials, cookies or referrer. @throws NotDownloaded
 */
export async function download(url: string, options: DownloadOptions): Promise<Buffer> {
  const signal = AbortSignal.timeout(options.timeoutMs)
  let target = url
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const answer = await orTemporary(target, () => request(checkedUrl(target), options, signal))
    const next = answer.headers.location
    const status = answer.statusCode ?? 0
    if (status >= 300 && status < 400 && next !== undefined) {
      answer.destroy()
      target = URL.parse(next, target)?.href ?? ''
      continue
    }
    try {
      return await orTemporary(target, () => contentOf(answer, status))
    } finally {
      answer.destroy()
    }
  }
  throw new NotDownloaded(`more than ${maxRedirects} redirects`)
}

/** Turns failures of the network into temporary ones. */
async function orTemporary<Result>(target: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof NotDownloaded ? error : new NotDownloaded(`${target}: ${String(error)}`, { isTemporary: true, cause: error })
  }
}

function checkedUrl(text: string): URL {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) throw new NotDownloaded('the URL is not http or https')
  if (url.username || url.password) throw new NotDownloaded('the URL has a user name or password')
  return url
}

async function request(url: URL, { servers, isAllowed }: DownloadOptions, signal: AbortSignal): Promise<IncomingMessage> {
  const isHttps = url.protocol === 'https:'
  const port = Number(url.port || (isHttps ? 443 : 80))
  const addresses = await resolveHost(url.hostname, servers)
  // One forbidden address is enough: a client would choose any of them.
  const forbidden = addresses.find(({ address }) => !isAllowed(address, port))
  if (forbidden) throw new NotDownloaded(`${url.host} is at ${forbidden.address}, port ${port}, which may not be contacted`)
  signal.throwIfAborted()
  // Loaded on demand, because importing `node:http` also loads `fetch`.
  const { request: send } = isHttps ? await import('node:https') : await import('node:http')
  return new Promise((resolve, reject) => {
    const headers = { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'Snug image proxy' }
    send(url, { headers, signal, agent: false, lookup: lookUpOnly(addresses), maxHeaderSize: 16 * 1024 })
      .on('response', resolve)
      .on('error', reject)
      .end()
  })
}

/** Returns a look-up that answers with these addresses, so that the connection does not resolve the name again. */
const lookUpOnly =
  (addresses: Address[]): LookupFunction =>
  (_host, { all }, callback) => {
    const [first] = addresses
    if (all) callback(null, addresses)
    else callback(null, first?.address ?? '', first?.family)
  }

async function contentOf(answer: IncomingMessage, status: number): Promise<Buffer> {
  if (status !== 200) throw new NotDownloaded(`status ${status}`, { isTemporary: status === 429 || status >= 500 })
  if ((answer.headers['content-encoding'] ?? 'identity') !== 'identity') throw new NotDownloaded('the content is encoded')
  if (Number(answer.headers['content-length'] ?? 0) > maxImageBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxImageBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const tooLarge = () => new NotDownloaded(`more than ${maxImageBytes} bytes`)
