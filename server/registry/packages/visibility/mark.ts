import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import { v7 as uuid } from 'uuid'
import { z } from 'zod'
import { type Setting, writeSetting } from '../../../platform/settings/service.ts'

/**
 * Identifier of the latest change of visibility: replaced whenever a package becomes public, becomes private or is deleted. Cached public answers
 * depend on it, because such a change can affect what the public can read of other packages.
 */
export const visibilityMark: Setting<string | null> = { key: 'visibility_mark', schema: z.string().nullable(), initial: null }

/** Invalidates cached public answers. Locks the setting's row, so transactions that change visibility are serialized from here on. */
export const markVisibilityChange = (em: EntityManager): Promise<void> => writeSetting(em, visibilityMark, uuid())

/**
 * Blocks changes of visibility until the end of the transaction, after waiting for those in progress. A version published concurrently either sees
 * such a change or is seen by it.
 */
export async function lockVisibility(em: EntityManager): Promise<void> {
  if (em.getPlatform() instanceof BasePostgreSqlPlatform)
    await em.execute('select key from server_settings where key = ? for share', [visibilityMark.key])
}
