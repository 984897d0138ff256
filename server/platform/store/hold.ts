import { randomUUID } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import { conflict } from '../../errors.ts'
import { lockSetting, readSettingIn, type Setting, writeSetting } from '../settings/service.ts'

const holdShape = z.object({ holder: z.string(), until: z.iso.datetime() })
type Hold = z.infer<typeof holdShape>

/** The current hold, which prevents all instances from purging removed bytes. */
export const holdSetting: Setting<Hold | null> = { key: 'store.hold', schema: holdShape.nullable(), initial: null }

/** Milliseconds after its last renewal at which the hold of a dead process expires. */
const leaseMs = 120_000
const renewMs = 20_000

/** A hold that is renewed until it is released. */
export type HeldRemovals = Awaited<ReturnType<typeof holdRemovals>>

/** Returns whether a hold prevents purging removed bytes at this time. */
export async function areRemovalsHeld(em: EntityManager, now: Date): Promise<boolean> {
  const hold = await readSettingIn(em, holdSetting)
  return hold !== null && new Date(hold.until) > now
}

/**
 * Prevents all instances from purging removed bytes, so that bytes of versions deleted from now on remain available.
 * @throws ApiError Conflict if another process has a hold.
 */
export async function holdRemovals(em: EntityManager, now: () => Date) {
  const holder = randomUUID()
  const controller = new AbortController()
  await em.fork().transactional(async (inner) => {
    const hold = await lockSetting(inner, holdSetting)
    if (hold && new Date(hold.until) > now())
      throw conflict(`Another backup of this server is running. If it was killed, a new backup can start at ${hold.until}.`)
    await writeSetting(inner, holdSetting, { holder, until: later(now()) })
  })
  const renewal = setInterval(() => void renew().catch(() => {}), renewMs)
  renewal.unref()
  const change = (until: string | null) =>
    em.fork().transactional(async (inner) => {
      const hold = await lockSetting(inner, holdSetting)
      if (hold?.holder !== holder || new Date(hold.until) <= now()) return false
      await writeSetting(inner, holdSetting, until === null ? null : { holder, until })
      return true
    })
  async function renew(): Promise<void> {
    if (await change(later(now()))) return
    clearInterval(renewal)
    controller.abort(conflict('The backup was interrupted for too long, and another one may have started. Start the backup again.'))
  }
  return {
    /** Aborted when the hold is lost. */
    signal: controller.signal,
    /** Renews the hold. @throws ApiError Conflict if it was lost. */
    async confirm(): Promise<void> {
      await renew()
      controller.signal.throwIfAborted()
    },
    async release(): Promise<void> {
      clearInterval(renewal)
      await change(null)
    },
  }
}

const later = (now: Date) => new Date(now.getTime() + leaseMs).toISOString()
