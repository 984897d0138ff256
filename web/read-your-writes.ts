import { ref } from 'vue'
import { send } from './documents.ts'
import { clearEmbeddedResponses, takeFirstResponse } from './first-answers.ts'

/** Number of mutations completed since the page was loaded. */
let completedMutations = 0

export const changesSoFar = () => completedMutations

const leaving = new AbortController()

/**
 * Ends all queries without an answer, current and future ones. For a page that is left because its session ends: they would fail without it. The page
 * is loaded again if the user goes back to it.
 */
export function endQueries() {
  leaving.abort()
  addEventListener('pageshow', () => location.reload())
}

/** Number of queries that wait for the server. */
export const queriesInFlight = ref(0)

/** Sends a mutation and counts its completion. */
export const sendMutation: typeof fetch = async (address, request) => {
  clearEmbeddedResponses()
  try {
    return await send(address, request)
  } finally {
    completedMutations++ // also after a network error, since the server may have applied the mutation
  }
}

/**
 * Sends a query, and repeats it if a mutation completed before the response arrived, because the response may predate the mutation. urql refetches
 * affected queries after a mutation, but skips queries that are already in flight. Answers that the server embedded in the page need no request.
 */
export const sendQuery: typeof fetch = async (address, request) => {
  const embedded = takeFirstResponse(request?.body)
  if (embedded) return embedded
  queriesInFlight.value++
  try {
    for (;;) {
      const before = completedMutations
      const response = await send(address, { ...request, signal: eitherOf(leaving.signal, request?.signal) })
      await response.clone().arrayBuffer()
      if (before === completedMutations) return response
    }
  } catch (error) {
    if (leaving.signal.aborted) return await new Promise<never>(() => {})
    throw error
  } finally {
    queriesInFlight.value--
  }
}

const eitherOf = (signal: AbortSignal, other: AbortSignal | null | undefined) => (other ? AbortSignal.any([signal, other]) : signal)
