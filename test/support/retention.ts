import { expect } from 'vitest'
import { sealEntries } from '../../server/accounts/audit/chain.ts'
import { deleteOldEntries } from '../../server/accounts/audit/retention.ts'
import { verifyChain } from '../../server/accounts/audit/verify.ts'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'
import { addEntries } from './audit.ts'

export const dayMs = 86_400_000
const ago = (days: number) => new Date(Date.now() - days * dayMs)

/** Adds `count` audit entries that are `days` days old. */
export const addOldEntries = (app: TestApp, count: number, days: number) =>
  addEntries(app, count, (n) => ({ kind: 'user.login', summary: `${days} days ago, ${n}`, createdAt: ago(days) }))

/** Adds pending entries to the hash chain. */
export const seal = ({ services }: TestApp) => sealEntries(services)

/** Deletes the entries that exceed the retention period. */
export const deleteExpired = ({ services }: TestApp) => deleteOldEntries(services)

/** Verifies the hash chain, and that it continues from the hash `known`. */
export const verify = ({ services }: TestApp, known?: string) => verifyChain(services.database.fork(), services.now(), known)

export const execute = ({ services }: TestApp, sql: string) => services.database.orm.em.execute(sql)
export const rowsOf = async (app: TestApp, sql: string) => app.services.database.reads.all<Record<string, string>>(sql)

/** Sends the mutation that sets the retention period to `days`. */
export const change = (actor: Actor, days: unknown) =>
  actor.graphql('mutation ($days: Int) { updateAuditRetention(input: { days: $days }) { auditRetention { days viewerCanUpdate } } }', {
    days,
  })

/** Sets the retention period to `days` as the owner. Null keeps entries forever. */
export const set = async (app: TestApp, days: number | null) => expect((await change(await app.owner(), days)).body.errors).toBeUndefined()
