import { send } from './documents.ts'

/** How many changes were answered so far. */
let changes = 0

/** Sends a change. */
export const sendChange: typeof fetch = async (address, request) => {
  const response = await send(address, request)
  changes++
  return response
}

/**
 * Sends a query, and again when a change was answered meanwhile: the answer may be from before it, and urql, which asks for everything anew after
 * a change, leaves out what is being asked for already.
 */
export const sendQuery: typeof fetch = async (address, request) => {
  for (;;) {
    const before = changes
    const response = await send(address, request)
    const body = await response.arrayBuffer()
    if (before === changes) return new Response(body, response)
  }
}
