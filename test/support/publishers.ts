import { expect } from 'vitest'
import { testApp } from '../app.ts'

export const acme = { id: 'acme', displayName: 'Acme' }

/** Returns the expected body of a REST error with this code. */
export const error = (code: string, message: unknown = expect.any(String)) => ({ body: { error: { code, message } } })

/** Starts a server with the publisher acme, whose admin (alice) and member (bob) have the role member on the server, and another member (eve). */
export async function team() {
  const app = await testApp()
  const [root, alice, bob, eve] = [await app.admin(), await app.member(), await app.member(), await app.member()]
  await root.post('/api/publishers', acme)
  await root.put(`/api/publishers/acme/members/${alice.id}`, { role: 'admin' })
  await root.put(`/api/publishers/acme/members/${bob.id}`, { role: 'member' })
  return { app, root, alice, bob, eve, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}
