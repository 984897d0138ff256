import type { RouteLocationNormalizedLoaded } from 'vue-router'

/** "Members · Acme": the tab by the end of its route's name, and what it is about, whose first tab has only that. */
export function titleOfTab({ name }: RouteLocationNormalizedLoaded, subject: string): string {
  const tab = String(name).split('-')[1] ?? 'readme'
  return tab === 'readme' ? subject : `${tab.charAt(0).toUpperCase()}${tab.slice(1)} · ${subject}`
}
