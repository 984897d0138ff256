import type { IncomingMessage } from 'node:http'
import { type ApiError, serviceUnavailable } from '../errors.ts'
import { requestFile } from './archive-request.ts'

/** A site that SDKs are downloaded from. */
export type Site = {
  /** As people know it, such as `Dart archive`. */
  name: string
  url: string
  /** The variable that says where it is. */
  variable: string
}

const timeoutMs = 15_000

/** The length of a listing, and of everything else that is read: in bytes at most. */
export const maxListing = 8 * 1024 ** 2
const maxNote = 64 * 1024

type Asked = {
  mostBytes?: number
  /** When all that is read together has to be there. */
  deadline?: AbortSignal
}

/**
 * Reads a small text from a site. Null when the site says that there is none.
 * @throws ApiError ServiceUnavailable when the site cannot be reached, or answers otherwise.
 */
export async function readFrom(site: Site, address: string, { mostBytes = maxNote, deadline }: Asked = {}): Promise<string | null> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = deadline ? AbortSignal.any([timeout, deadline]) : timeout
  let response: IncomingMessage | undefined
  try {
    response = await requestFile(address, { signal })
    if (response.statusCode === 404) return null
    if (response.statusCode !== 200) throw new Error(`it answered ${response.statusCode}`)
    return await textOf(response, mostBytes)
  } catch (error) {
    throw siteAway(site, signal.aborted ? signal.reason : error)
  } finally {
    response?.destroy()
  }
}

/** 503: the site does not answer, or not as it should. The message says which, and where that is set. */
export const siteAway = ({ name, url, variable }: Site, error: unknown): ApiError =>
  serviceUnavailable(`The ${name} at ${url} cannot be read: ${reasonOf(error)}. Check the network, or set ${variable} to a mirror.`, 60)

/** Returns why a request failed, in words. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'there was no answer in time'
  // What tried several addresses has a code only.
  return error.message || String((error as NodeJS.ErrnoException).code)
}

async function textOf(body: IncomingMessage, mostBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new Error(`its answer is longer than ${mostBytes / 1024} KiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
