import { shallowRef } from 'vue'

/** How the registry presents itself: its name, description and logo. */
export interface Registry {
  name: string
  description: string
  logoUrl?: string | null
}

/** The presentation of this registry. The built-in one until the session is loaded. */
export const registry = shallowRef<Registry>({ name: 'Snug', description: '' })
