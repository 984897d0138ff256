import { pageModules } from '../../web/route-modules.ts'

/** Returns the paths of all pages in web/router.ts except the catch-all route. */
export const consoleRoutes = (): string[] => pageModules().map(({ path }) => path)
