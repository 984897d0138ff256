import type { EntityManager } from '@mikro-orm/sql'
import { v7 as uuid } from 'uuid'
import { z } from 'zod'
import { type Setting, writeSetting } from '../settings/service.ts'

/** Something new whenever a package becomes public, private, or is gone: what anybody may read of the others depends on it. */
export const visibilityMark: Setting<string | null> = { key: 'visibility_mark', schema: z.string().nullable(), initial: null }

/** Tells the caches that other packages may be readable now. Call it last in the transaction: all such changes write this row. */
export const markVisibilityChange = (em: EntityManager): Promise<void> => writeSetting(em, visibilityMark, uuid())
