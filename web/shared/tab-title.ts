import type { RouteLocationNormalizedLoaded } from 'vue-router'

/** Returns the title of a tab, such as "Members · Acme", derived from the route's name. The title of the first tab is the subject alone. */
export function titleOfTab({ name }: RouteLocationNormalizedLoaded, subject: string): string {
  const tab = String(name).split('-').slice(1).join(' ') || 'readme'
  return tab === 'readme' ? subject : `${tab.charAt(0).toUpperCase()}${tab.slice(1)} · ${subject}`
}
