import { expect } from 'vitest'
import { testApp } from '../app.ts'

export const acme = { id: 'acme', displayName: 'Acme' }

/** An answer of REST with this code. */
export const error = (code: string, message: unknown = expect.any(String)) => ({ body: { error: { code, message } } })

/** A publisher with an admin and a member who are nobody on the server, and somebody else. */
export async function team() {
  const app = await testApp()
  const [root, alice, bob, eve] = [await app.admin(), await app.member(), await app.member(), await app.member()]
  await root.post('/api/publishers', acme)
  await root.put(`/api/publishers/acme/members/${alice.id}`, { role: 'admin' })
  await root.put(`/api/publishers/acme/members/${bob.id}`, { role: 'member' })
  return { app, root, alice, bob, eve, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() }
}
