import { ref, shallowRef } from 'vue'
import { csrfHeader, type Failure, proved, unreachable } from '../graphql.ts'
import { bytes } from '../shared/format.ts'
import { loadSession } from '../sign-in/session.ts'

export const pictureTypes = ['image/png', 'image/jpeg', 'image/webp']
const maxBytes = 5 * 1024 * 1024

/** Changes the viewer's picture. `chosen` is one that waits to be uploaded, as a data address that the page may show. */
export function useAvatar() {
  const running = ref(false)
  const failure = shallowRef<Failure>()
  const chosen = shallowRef<{ file: File; address: string }>()

  async function choose(file: File) {
    failure.value = faultOf(file)
    chosen.value = failure.value ? undefined : { file, address: await dataAddress(file) }
  }
  async function upload() {
    if (!chosen.value) return false
    const form = new FormData()
    form.append('file', chosen.value.file)
    const done = await send('POST', form)
    if (done) chosen.value = undefined
    return done
  }
  async function send(method: 'POST' | 'DELETE', body?: FormData) {
    running.value = true
    failure.value = await proved(() => request(method, body))
    const done = !failure.value && (await loadSession({ again: true }))
    running.value = false
    return done
  }
  return { chosen, choose, upload, remove: () => send('DELETE'), running, failure }
}

/** What the server would refuse is not even sent. */
function faultOf({ type, size }: File): Failure | undefined {
  if (!pictureTypes.includes(type)) return { code: 'InvalidInput', message: 'Choose a PNG, JPEG or WebP picture.' }
  if (size > maxBytes) return { code: 'InvalidInput', message: `This picture is too large (${bytes(size)}): at most 5 MiB are allowed.` }
  return undefined
}

/** An object URL would be simpler, but the page's policy shows pictures of this server and data addresses only. */
function dataAddress(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(reader.result as string)) // readAsDataURL gives text
    reader.addEventListener('error', () => reject(reader.error ?? new Error('The file cannot be read.')))
    reader.readAsDataURL(file)
  })
}

/** A picture travels by REST: GraphQL carries no files. */
async function request(method: string, body?: FormData): Promise<Failure | undefined> {
  try {
    const address = new URL('api/auth/avatar', document.baseURI)
    const answer = await fetch(address, { method, headers: csrfHeader(), ...(body && { body }) })
    // Read in any case: a browser takes a request for unfinished until then.
    const text = await answer.text()
    if (answer.ok) return undefined
    const { error }: { error: Failure } = JSON.parse(text)
    return { ...error, retryAfter: Number(answer.headers.get('retry-after')) || undefined }
  } catch {
    return unreachable
  }
}
