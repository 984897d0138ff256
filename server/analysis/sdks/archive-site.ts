import type { IncomingMessage } from 'node:http'
import { type ApiError, serviceUnavailable } from '../../errors.ts'
import { requestFile } from './archive-request.ts'

/** A website that offers SDK archives. */
export type Site = {
  /** Display name, such as `Dart archive`. */
  name: string
  url: string
  /** Setting that contains the URL. */
  variable: string
}

const timeoutMs = 15_000

/** Maximum size of a listing of SDK releases, in bytes. */
export const maxListing = 8 * 1024 ** 2
const maxNote = 64 * 1024

type ReadOptions = {
  maxBytes?: number
  /** Aborts the request when a time limit shared by several requests expires. */
  deadline?: AbortSignal
}

/**
 * Reads a small text file from an archive site. Returns null on 404.
 * @throws ApiError ServiceUnavailable when the site cannot be reached or returns another status than 200.
 */
export async function readFrom(site: Site, address: string, { maxBytes = maxNote, deadline }: ReadOptions = {}): Promise<string | null> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = deadline ? AbortSignal.any([timeout, deadline]) : timeout
  let response: IncomingMessage | undefined
  try {
    response = await requestFile(address, { signal })
    if (response.statusCode === 404) return null
    if (response.statusCode !== 200) throw new Error(`it answered ${response.statusCode}`)
    return await textOf(response, maxBytes)
  } catch (error) {
    throw siteUnavailable(site, signal.aborted ? signal.reason : error)
  } finally {
    response?.destroy()
  }
}

/**
 * Returns a 503 error for a site that does not respond or returns unexpected data. The message contains the site's URL and the setting that changes
 * it.
 */
export const siteUnavailable = ({ name, url, variable }: Site, error: unknown): ApiError =>
  serviceUnavailable(`The ${name} at ${url} cannot be read: ${reasonOf(error)}. Check the network, or set ${variable} to a mirror.`, 60)

/** Returns a readable reason for a failed request. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'no response in time'
  // AggregateError, thrown after several addresses were tried, has a code but no message.
  return error.message || String((error as NodeJS.ErrnoException).code)
}

async function textOf(body: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`its answer is longer than ${maxBytes / 1024} KiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
