import { AsyncResource } from 'node:async_hooks'
import type { EntityManager } from '@mikro-orm/sql'

/** The workers of this process, by the database that they serve. */
const listeners = new WeakMap<object, Set<() => void>>()

/** Calls `listener` after each commit in this process that leaves a job behind. Gives what ends it. */
export function onWaiting(em: EntityManager, listener: () => void): () => void {
  // Called from within a transaction's context, the ORM would take everything for a part of that.
  const wake = AsyncResource.bind(listener)
  const driver = em.getDriver()
  const heard = listeners.get(driver) ?? new Set()
  listeners.set(driver, heard.add(wake))
  return () => void heard.delete(wake)
}

const keepers = new WeakMap<object, (id: string) => void>()

/** Calls `keep` with the ids of jobs that this process leaves behind, in the context that asks for them. */
export const onEnqueued = (em: EntityManager, keep: (id: string) => void): void => void keepers.set(em.getDriver(), keep)

/** Tells this process's workers when the transaction of `em`, which leaves a job behind, is committed; at once when it has none. */
export function wakeAfterCommit(em: EntityManager, jobId?: string): void {
  if (jobId !== undefined) keepers.get(em.getDriver())?.(jobId)
  const wakeAll = () => {
    for (const wake of listeners.get(em.getDriver()) ?? []) wake()
  }
  // A transaction's entity manager has listeners of its own.
  if (em.isInTransaction()) em.getEventManager().registerSubscriber({ afterTransactionCommit: wakeAll })
  else wakeAll()
}
