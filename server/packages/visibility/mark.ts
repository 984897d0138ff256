import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { v7 as uuid } from 'uuid'
import { z } from 'zod'
import { type Setting, writeSetting } from '../../settings/service.ts'

/** Something new whenever a package becomes public, private, or is gone: what anybody may read of the others depends on it. */
export const visibilityMark: Setting<string | null> = { key: 'visibility_mark', schema: z.string().nullable(), initial: null }

/** Tells the caches that other packages may be readable now. All such changes write this row, so from here on they wait for each other. */
export const markVisibilityChange = (em: EntityManager): Promise<void> => writeSetting(em, visibilityMark, uuid())

/**
 * Waits for the changes of visibility that are under way, and keeps new ones waiting until the end of the transaction: a version that is
 * published meanwhile either sees them, or is seen by them.
 */
export async function holdVisibility(em: EntityManager): Promise<void> {
  if (em.getPlatform() instanceof BasePostgreSqlPlatform)
    await em.execute('select key from server_settings where key = ? for share', [visibilityMark.key])
}
