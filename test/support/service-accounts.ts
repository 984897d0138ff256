import { expect } from 'vitest'
import { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'
import { team } from './publishers.ts'

export type ServiceAccount = { id: string; name: string; address: string; role: string; isActive: boolean }

/** Creates a service account of a publisher, or of the server, and a token for it. Returns the account and an actor that sends the token. */
export async function robotOf(app: TestApp, admin: Actor, at: 'acme' | 'server', fields: object = {}) {
  const path = at === 'server' ? '/api/admin/service-accounts' : `/api/publishers/${at}/service-accounts`
  const { status, body: account } = await admin.post(path, { name: 'Release robot', role: 'member', ...fields })
  expect(status).toBe(201)
  const issued = await admin.post(`/api/service-accounts/${account.id}/tokens`, { name: 'CI' })
  expect(issued.status).toBe(201)
  const user = { id: account.id, email: account.address, displayName: account.name }
  const robot = new Actor(app.http, { user, secret: issued.body.secret, ip: app.address() })
  return { account: account as ServiceAccount, robot, tokenId: issued.body.id as string }
}

/** The team of `team()` with a service account of acme and one of the server. */
export async function teamWithRobots() {
  const t = await team()
  const owner = await t.app.owner()
  const [ofAcme, ofServer] = [await robotOf(t.app, t.alice, 'acme'), await robotOf(t.app, owner, 'server', { name: 'Server robot' })]
  return { ...t, owner, ofAcme, ofServer, [Symbol.asyncDispose]: t[Symbol.asyncDispose] }
}
