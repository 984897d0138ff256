import { ref } from 'vue'
import { send } from './documents.ts'
import { clearEmbeddedResponses, takeFirstResponse } from './first-answers.ts'

/** Number of mutations completed since the page was loaded. */
let completedMutations = 0

export const changesSoFar = () => completedMutations

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
      const response = await send(address, request)
      await response.clone().arrayBuffer()
      if (before === completedMutations) return response
    }
  } finally {
    queriesInFlight.value--
  }
}
