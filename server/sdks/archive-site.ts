import { type ApiError, serviceUnavailable } from '../errors.ts'

/** A site that SDKs are downloaded from. */
export type Site = {
  /** As people know it, such as `Dart archive`. */
  name: string
  url: string
  /** The variable that says where it is. */
  variable: string
}

const timeoutMs = 15_000
const maxBytes = 16 * 1024 ** 2

/**
 * Reads a small text from a site. Null when the site says that there is none.
 * @throws ApiError ServiceUnavailable when the site cannot be reached, or answers otherwise.
 */
export async function readFrom(site: Site, address: string, signal?: AbortSignal): Promise<string | null> {
  try {
    const timeout = AbortSignal.timeout(timeoutMs)
    const response = await fetch(address, { signal: signal ? AbortSignal.any([timeout, signal]) : timeout })
    if (response.status === 404) return null
    if (!response.ok) throw new Error(`it answered ${response.status}`)
    return await textOf(response)
  } catch (error) {
    signal?.throwIfAborted()
    throw siteAway(site, error)
  }
}

/** 503: the site does not answer, or not as it should. The message says which, and where that is set. */
export const siteAway = ({ name, url, variable }: Site, error: unknown): ApiError =>
  serviceUnavailable(`The ${name} at ${url} cannot be read: ${reasonOf(error)}. Check the network, or set ${variable} to a mirror.`, 60)

/** Why a request failed: fetch puts it into the cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'there was no answer in time'
  return error.cause instanceof Error ? error.cause.message || String((error.cause as NodeJS.ErrnoException).code) : error.message
}

async function textOf({ body }: Response): Promise<string> {
  if (!body) return ''
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`its answer is longer than ${maxBytes / 1024 ** 2} MiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
