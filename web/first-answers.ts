import { csrfCookie } from './csrf.ts'

interface FirstAnswers {
  /** The last characters of the CSRF cookie that the answers belong to. */
  session: string
  answers: { hash: string; variables: Record<string, unknown>; data: unknown }[]
}

/** Time in milliseconds after which the answers are too old to be used. */
const maxAgeMs = 10_000

/** Length of `session`. */
const sessionCharacters = 8

let known = readAnswers()
setTimeout(clearEmbeddedResponses, maxAgeMs)

/** Forgets the answers that the server embedded in the page. Call this after a change. */
export function clearEmbeddedResponses() {
  known = undefined
}

/** Returns the data of a query that the server embedded in the page, once, or undefined. */
export function takeFirstAnswer(hash: string, variables: Record<string, unknown> = {}): unknown {
  if (!known || (csrfCookie()?.slice(-sessionCharacters) ?? '') !== known.session) return undefined
  const wanted = keyOf(variables)
  const place = known.answers.findIndex((one) => one.hash === hash && keyOf(one.variables) === wanted)
  return place < 0 ? undefined : known.answers.splice(place, 1)[0]?.data
}

/** Returns the response to the request of a query that the server embedded in the page, once, or undefined. */
export function takeFirstResponse(body: BodyInit | null | undefined): Response | undefined {
  if (!known || typeof body !== 'string') return undefined
  const { variables, extensions } = JSON.parse(body) as Sent
  const data = takeFirstAnswer(extensions.persistedQuery.sha256Hash, variables)
  return data === undefined ? undefined : Response.json({ data })
}

interface Sent {
  variables?: Record<string, unknown>
  extensions: { persistedQuery: { sha256Hash: string } }
}

const keyOf = (variables: Record<string, unknown>) => JSON.stringify(Object.entries(variables).toSorted(([a], [b]) => (a < b ? -1 : 1)))

function readAnswers(): FirstAnswers | undefined {
  const text = document.getElementById('first-answers')?.textContent
  return text ? (JSON.parse(text) as FirstAnswers) : undefined
}
