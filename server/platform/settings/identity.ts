import { z } from 'zod'
import type { Reads } from '../db/reads.ts'
import { readSetting, type Setting } from './service.ts'

const schema = z.object({
  name: z.string(),
  description: z.string(),
  /** The beginning of the logo's SHA-256; null for the built-in logo. */
  logoTag: z.string().nullable(),
})
/** How this registry presents itself: its name, what it contains, and its logo. */
export type RegistryIdentity = z.infer<typeof schema>

export const identitySetting: Setting<RegistryIdentity> = {
  key: 'identity',
  schema,
  initial: { name: 'Snug', description: '', logoTag: null },
}

export const readIdentity = (reads: Reads): Promise<RegistryIdentity> => readSetting(reads, identitySetting)

/** Returns the path of the logo, relative to the registry; null for the built-in logo. The path changes with the logo. */
export const logoPath = ({ logoTag }: RegistryIdentity): string | null => logoTag && `/api/logo?v=${logoTag}`
