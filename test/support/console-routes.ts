import { flatPages } from '../../web/flat-pages.ts'

/** Returns the paths of all pages of the console except the catch-all page. */
export const consoleRoutes = (): string[] => flatPages().map(({ path }) => path)
