import type { Operation } from '@urql/vue'
import textsAddress from './generated/documents.json?url'

/** Has an operation sent by its hash. */
export function byHash(sent: Operation): Operation {
  const { documentId: sha256Hash = '' } = sent.query as { documentId?: string }
  return { ...sent, extensions: { persistedQuery: { version: 1, sha256Hash } } }
}

/** What a server of another release answers to a hash that it does not know. 0.4.0 knows none: it misses the text. */
const unknownHash = /"field":"extensions\.persistedQuery\.sha256Hash"|"message":"query: is required\."/

/** How often an operation is sent: while instances are replaced one after the other, each time another one may answer. */
const maxTries = 4

/**
 * Sends an operation. A server of another release, which does not know its hash, is sent the text as well: the page may be older than an
 * upgrade, and what was entered in it is not to be lost.
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

/** The texts of all operations by their hashes. An upgraded server has them no more: a page that stays open loads them before. */
export async function loadTexts(): Promise<Texts | undefined> {
  texts ??= fetch(textsAddress)
    .then((response) => (response.ok ? (response.json() as Promise<Texts>) : undefined))
    .catch(() => undefined)
  const loaded = await texts
  if (!loaded) texts = undefined // another time, they may be there
  return loaded
}
