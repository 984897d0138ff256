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
  try {
    const timeout = AbortSignal.timeout(timeoutMs)
    const response = await fetch(address, { signal: deadline ? AbortSignal.any([timeout, deadline]) : timeout })
    if (response.status === 404) return null
    if (!response.ok) throw new Error(`it answered ${response.status}`)
    return await textOf(response, mostBytes)
  } catch (error) {
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

async function textOf({ body }: Response, mostBytes: number): Promise<string> {
  if (!body) return ''
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new Error(`its answer is longer than ${mostBytes / 1024} KiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
