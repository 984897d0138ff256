import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import { conflict } from '../../errors.ts'
import { lockSetting, readSettingIn, type Setting, writeSetting } from '../settings/service.ts'

/** A process: the machine or container that it runs on, its id, and when it started there, in the unit of the system; null if unknown. */
const processShape = z.object({ host: z.string(), pid: z.number(), started: z.string().nullable() })
type Process = z.infer<typeof processShape>

const holdShape = z.object({ holder: z.string(), until: z.iso.datetime(), process: processShape.optional() })
type Hold = z.infer<typeof holdShape>

/** The current hold, which prevents all instances from purging removed bytes. */
export const holdSetting: Setting<Hold | null> = { key: 'store.hold', schema: holdShape.nullable(), initial: null }

/** Milliseconds after its last renewal at which the hold of a dead process on another machine expires. */
const leaseMs = 60_000
const renewMs = 10_000

/** A hold that is renewed until it is released. */
export type HeldRemovals = Awaited<ReturnType<typeof holdRemovals>>

/** Returns whether a hold prevents purging removed bytes at this time. */
export async function areRemovalsHeld(em: EntityManager, now: Date): Promise<boolean> {
  return isHeld(await readSettingIn(em, holdSetting), now)
}

/** Returns whether a hold is valid: it has not expired, and its process has not ended, as far as this process can see it. */
const isHeld = (hold: Hold | null, now: Date): boolean =>
  hold !== null && new Date(hold.until) > now && !(hold.process && hasEnded(hold.process))

/** Returns whether a process of this machine or container has ended. Processes elsewhere cannot be seen and count as running. */
function hasEnded({ host, pid, started }: Process): boolean {
  if (host !== hostOfProcess()) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
  // The system may have given the id to another process.
  return started !== null && startOf(pid) !== started
}

/** Returns a name of this machine, or of the container: process ids are only valid within it. */
function hostOfProcess(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}

/** Returns when a process started, in clock ticks since the start of the machine; null on systems other than Linux. */
function startOf(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is a name in parentheses that can contain spaces. The start is the 22nd field.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch {
    return null
  }
}

/**
 * Prevents all instances from purging removed bytes, so that bytes of versions deleted from now on remain available.
 * @throws ApiError Conflict if another process has a hold.
 */
export async function holdRemovals(em: EntityManager, now: () => Date) {
  const own = { holder: randomUUID(), process: { host: hostOfProcess(), pid: process.pid, started: startOf(process.pid) } }
  const controller = new AbortController()
  await em.fork().transactional(async (inner) => {
    const hold = await lockSetting(inner, holdSetting)
    if (hold && isHeld(hold, now()))
      throw conflict(`Another backup of this server is running. If it was killed, a new backup can start at ${hold.until}.`)
    await writeSetting(inner, holdSetting, { ...own, until: later(now()) })
  })
  const renewal = setInterval(() => void renew().catch(() => {}), renewMs)
  renewal.unref()
  const change = (until: string | null) =>
    em.fork().transactional(async (inner) => {
      const hold = await lockSetting(inner, holdSetting)
      if (hold?.holder !== own.holder || new Date(hold.until) <= now()) return false
      await writeSetting(inner, holdSetting, until === null ? null : { ...own, until })
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
