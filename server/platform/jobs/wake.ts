import { AsyncResource } from 'node:async_hooks'
import type { EntityManager } from '@mikro-orm/sql'

/** Listeners of this process's workers, by database driver: a change enqueues jobs with only its entity manager at hand. */
const listeners = new WeakMap<object, Set<() => void>>()

/** Calls `listener` after each commit of this process that enqueues a job. Returns a function that unsubscribes. */
export function onJobCommitted(em: EntityManager, listener: () => void): () => void {
  // Run outside of the caller's async context. Otherwise, the ORM would run the listener's statements in the caller's transaction.
  const wake = AsyncResource.bind(listener)
  const driver = em.getDriver()
  const heard = listeners.get(driver) ?? new Set()
  listeners.set(driver, heard.add(wake))
  return () => void heard.delete(wake)
}

const keepers = new WeakMap<object, (id: string) => void>()

/** Calls `keep` with the id of each job that this process enqueues, in the async context of the caller. */
export const onEnqueued = (em: EntityManager, keep: (id: string) => void): void => void keepers.set(em.getDriver(), keep)

/** Wakes this process's workers when the transaction of `em`, which enqueued a job, is committed. Wakes them at once if there is no transaction. */
export function wakeAfterCommit(em: EntityManager, jobId?: string): void {
  if (jobId !== undefined) keepers.get(em.getDriver())?.(jobId)
  const wakeAll = () => {
    for (const wake of listeners.get(em.getDriver()) ?? []) wake()
  }
  // The entity manager of a transaction has its own event manager.
  if (em.isInTransaction()) em.getEventManager().registerSubscriber({ afterTransactionCommit: wakeAll })
  else wakeAll()
}
