import type { RouteLocationNormalized } from 'vue-router'
import type { HelpPage } from '../help-pages.ts'

const loaders = import.meta.glob<HelpPage>(['./*.md', '!./README.md'], { import: 'default' })
const loaded = new Map<string, HelpPage>()

/** Loads the help page of a route. A navigation guard: it delays the navigation until the page can be shown at once, with all its headings. */
export async function loadHelpPage({ params: { page } }: RouteLocationNormalized): Promise<void> {
  const name = String(page)
  const load = loaders[`./${name}.md`]
  if (load && !loaded.has(name)) loaded.set(name, await load())
}

/** Returns a page that `loadHelpPage` has loaded. Returns undefined if the page does not exist. */
export const loadedHelpPage = (name: string) => loaded.get(name)
