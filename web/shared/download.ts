import { ref, shallowRef } from 'vue'
import { announce } from './announce.ts'
import type { Failure } from '../graphql.ts'
import { saveFile } from './save-file.ts'

const fileTypes = { csv: 'text/csv', ndjson: 'application/x-ndjson' }
export type FileKind = keyof typeof fileTypes

interface Download {
  /** Path of the list in the REST API. */
  path: string
  filters: Record<string, string | null | undefined>
  kind: FileKind
  /** What is downloaded, for screen readers: "the audit log". */
  what: string
}

/** Downloads a filtered list as a file. */
export function useDownload() {
  const running = ref(false)
  const failure = shallowRef<Failure>()
  async function run({ path, filters, kind, what }: Download): Promise<void> {
    running.value = true
    failure.value = undefined
    const given = Object.entries(filters).filter((filter): filter is [string, string] => filter[1] != null)
    try {
      const address = new URL(`${path}?${new URLSearchParams(given)}`, document.baseURI)
      const response = await fetch(address, { headers: { accept: fileTypes[kind] }, credentials: 'same-origin' })
      if (response.ok) saveFile(await response.blob(), nameIn(response) ?? `download.${kind}`)
      else failure.value = await failureOfResponse(response)
    } catch {
      failure.value = { code: 'Unreachable', message: 'The download was interrupted. Check the connection, then try again.' }
    }
    running.value = false
    if (!failure.value) announce(`Downloaded ${what}.`)
  }
  return { run, running, failure }
}

async function failureOfResponse(response: Response): Promise<Failure> {
  const { error } = (await response.json().catch(() => ({}))) as { error?: Failure }
  return error ?? { code: 'InternalError', message: `The server answered with status ${response.status}.` }
}

const nameIn = ({ headers }: Response) => /filename="([^"]+)"/.exec(headers.get('content-disposition') ?? '')?.[1]
