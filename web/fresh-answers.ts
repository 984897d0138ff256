import { send } from './documents.ts'

/** How many changes have ended so far. */
let changes = 0

/** Sends a change. */
export const sendChange: typeof fetch = async (address, request) => {
  try {
    return await send(address, request)
  } finally {
    changes++ // also when the answer was lost
  }
}

/**
 * Sends a query, and again when a change was answered meanwhile: the answer may be from before it, and urql, which asks for everything anew after
 * a change, leaves out what is being asked for already.
 */
export const sendQuery: typeof fetch = async (address, request) => {
  for (;;) {
    const before = changes
    const response = await send(address, request)
    await response.clone().arrayBuffer()
    if (before === changes) return response
  }
}
