import type { IncomingMessage } from 'node:http'
import type { Guard } from '../../../platform/outbound/addresses.ts'
import type { ProxySettings } from '../../../platform/outbound/proxy.ts'
import { maxImageBytes } from '../../files/content.ts'
import { NotFetched, orTemporary, requestUrl } from '../../../platform/outbound/request.ts'

export type DownloadOptions = {
  /** DNS servers; by default, those of the system. */
  servers: readonly string[]
  /** Forward proxies. */
  proxies: ProxySettings
  /** Decides which addresses may be contacted. */
  isAllowed: Guard
  /** Limit for the whole download, including redirects, in milliseconds. */
  timeoutMs: number
}

/** Downloads a remote image, following redirects. @throws NotFetched */
export async function download(url: string, { timeoutMs, ...rules }: DownloadOptions): Promise<Buffer> {
  const headers = { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'Snug image proxy' }
  const answer = await requestUrl(url, { ...rules, headers, signal: AbortSignal.timeout(timeoutMs) })
  try {
    return await orTemporary(url, () => contentOf(answer))
  } finally {
    answer.destroy()
  }
}

async function contentOf(answer: IncomingMessage): Promise<Buffer> {
  const status = answer.statusCode ?? 0
  if (status !== 200) throw new NotFetched(`status ${status}`, { isTemporary: status === 429 || status >= 500, status })
  if ((answer.headers['content-encoding'] ?? 'identity') !== 'identity') throw new NotFetched('the content is encoded')
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

const tooLarge = () => new NotFetched(`more than ${maxImageBytes} bytes`)
