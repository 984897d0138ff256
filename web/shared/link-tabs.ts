import type { RouteLocationRaw } from 'vue-router'

/** A tab that links to a page. */
export interface LinkTab {
  label: string
  /** A page of the console. */
  to?: RouteLocationRaw
  /** URL of a page outside the console, such as generated documentation. */
  href?: string
  count?: string
  /** Path prefix of further pages that belong to this tab. */
  above?: string
}
