import { ref, shallowRef } from 'vue'
import { csrfHeader } from '../csrf.ts'
import { type Failure, runWithProof, unreachable } from '../graphql.ts'
import { bytes } from './format.ts'

export const pictureTypes = ['image/png', 'image/jpeg', 'image/webp']
const maxBytes = 5 * 1024 * 1024

/**
 * Uploads a picture to the path `upload`, or removes it. `refresh` reloads what shows the picture. `chosen` is the picture to upload, with a data URL
 * for the preview.
 */
export function usePicture({ upload: path, remove, refresh }: PictureTarget) {
  const running = ref(false)
  const failure = shallowRef<Failure>()
  const chosen = shallowRef<{ file: File; address: string }>()

  async function choose(file: File) {
    failure.value = validationFailure(file)
    chosen.value = failure.value ? undefined : { file, address: await dataAddress(file) }
  }
  async function upload() {
    if (!chosen.value) return false
    const body = new FormData()
    body.append('file', chosen.value.file)
    const done = await change(() => request(path, { method: 'POST', body }))
    if (done) chosen.value = undefined
    return done
  }
  async function change(send: () => Promise<Failure | undefined>) {
    running.value = true
    failure.value = await runWithProof(send)
    const done = !failure.value && (await refresh())
    running.value = false
    return done
  }
  return { chosen, choose, upload, remove: () => change(remove), running, failure }
}

export interface PictureTarget {
  upload: string
  remove: () => Promise<Failure | undefined>
  refresh: () => Promise<boolean>
}

/** Validates a file before the upload, by the same rules as the server. */
function validationFailure({ type, size }: File): Failure | undefined {
  if (!pictureTypes.includes(type)) return { code: 'InvalidInput', message: 'Choose a PNG, JPEG or WebP picture.' }
  if (size > maxBytes) return { code: 'InvalidInput', message: `This picture is too large (${bytes(size)}): at most 5 MiB are allowed.` }
  return undefined
}

/** Reads a file as a data URL. The page's content security policy does not allow object URLs for images. */
function dataAddress(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(reader.result as string)) // a string after readAsDataURL
    reader.addEventListener('error', () => reject(reader.error ?? new Error('The file cannot be read.')))
    reader.readAsDataURL(file)
  })
}

/** Sends a request to the REST API, because the GraphQL API does not support file uploads. Returns the failure, if any. */
export async function request(path: string, { method, body }: { method: string; body?: FormData }): Promise<Failure | undefined> {
  try {
    const answer = await fetch(new URL(path, document.baseURI), { method, headers: csrfHeader(), ...(body && { body }) })
    // Always read the body; otherwise browsers report the request as unfinished.
    const text = await answer.text()
    if (answer.ok) return undefined
    const { error }: { error: Failure } = JSON.parse(text)
    return { ...error, retryAfter: Number(answer.headers.get('retry-after')) || undefined }
  } catch {
    return unreachable
  }
}
