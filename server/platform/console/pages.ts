/** Paths of the console's pages; `:name` matches one segment. A test compares them with the console's router. */
export const consolePages: readonly string[] = [
  '/',
  '/setup',
  '/login',
  '/signup',
  '/invite/:token',
  '/welcome',
  '/oauth/consent',
  '/graphql',
  '/privacy',
  '/terms',
  ...below('/help', ['', '/:page']),
  ...below('/packages', ['', '/:name']),
  ...below('/packages/:name', ['/changelog', '/example', '/license', '/dependencies', '/install', '/score']),
  ...below('/packages/:name', ['/versions', '/changes', '/advisories', '/dependents', '/activity', '/admin']),
  ...below('/packages/:name/versions/:version', ['', '/changelog', '/example', '/license', '/dependencies', '/install', '/score']),
  ...below('/publishers', ['', '/verify', '/:slug', '/:slug/members', '/:slug/activity', '/:slug/settings']),
  ...below('/me', ['', '/packages', '/publishers', '/activity']),
  ...below('/settings', ['', '/profile', '/security', '/sessions', '/tokens']),
  ...below('/admin', ['', '/users', '/users/:id', '/publishers', '/packages', '/names', '/sdks', '/scoring']),
  ...below('/admin', ['/jobs', '/self-check', '/advisories', '/audit', '/public-packages', '/ownership']),
  ...below('/admin', ['/settings/legal', '/settings/legal/terms']),
]

/** Whether the console has a page at this path. Like its router, ignores case and a trailing slash. */
export const isConsolePage = (path: string): boolean => pattern.test(path)

function below(path: string, ends: string[]): string[] {
  return ends.map((end) => path + end)
}

const sources = consolePages.map((page) => page.replace(/\/$/, '').replace(/:\w+/g, '[^/]+'))
const pattern = new RegExp(`^(?:${sources.join('|')})/?$`, 'i')
