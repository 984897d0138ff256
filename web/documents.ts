import type { Operation } from '@urql/vue'
import textsAddress from './generated/documents.json?url'

/** Makes urql send the operation as a persisted query: by its SHA-256 hash instead of its text. */
export function asPersistedQuery(sent: Operation): Operation {
  const { documentId: sha256Hash = '' } = sent.query as { documentId?: string }
  return { ...sent, extensions: { persistedQuery: { version: 1, sha256Hash } } }
}

/** Matches the error for an unknown persisted query hash. Release 0.3.0 has no persisted queries and reports a missing query instead. */
const unknownHash = /"field":"extensions\.persistedQuery\.sha256Hash"|"message":"query: is required\."/

/** The field of the error for an unknown hash that is left after all attempts, and the message to show for it. */
export const unknownHashField = 'extensions.persistedQuery.sha256Hash'
export const outdatedPage = 'The server was upgraded after you opened the page. Reload the page.'

/** Maximum number of attempts: during a rolling upgrade, each attempt may reach an instance of a different release. */
const maxTries = 4

/**
 * Sends an operation by its hash, and retries with the full text if the server does not know the hash. The hash is unknown when the page was
 * loaded before an upgrade; retrying saves the user from reloading the page and losing their input.
 */
export const send: typeof fetch = async (address, first) => {
  for (let [tries, request] = [1, first]; ; tries++) {
    const response = await fetch(address, request)
    if (tries === maxTries || response.ok || !unknownHash.test(await response.clone().text())) return response
    request = { ...request, body: withText(request?.body as string, await loadTexts()) }
  }
}

function withText(body: string, known: Texts = {}): string {
  const sent = JSON.parse(body) as { extensions: { persistedQuery: { sha256Hash: string } } }
  return JSON.stringify({ ...sent, query: known[sent.extensions.persistedQuery.sha256Hash] })
}

type Texts = Record<string, string>
let texts: Promise<Texts | undefined> | undefined

/** Loads the texts of all operations, keyed by hash. Call it early: after an upgrade, the server no longer has the texts of this build. */
export async function loadTexts(): Promise<Texts | undefined> {
  texts ??= fetch(textsAddress)
    .then((response) => (response.ok ? (response.json() as Promise<Texts>) : undefined))
    .catch(() => undefined)
  const loaded = await texts
  if (!loaded) texts = undefined // retry on the next call
  return loaded
}
