import { createRouter, createWebHistory, type RouteLocationNormalized, type RouteRecordRaw } from 'vue-router'
import { loadSession, useSession } from './sign-in/session.ts'

declare module 'vue-router' {
  interface RouteMeta {
    /** Accessible without signing in. */
    open?: boolean
    /** Accessible in any state of the server: before the setup, and while the server does not respond. */
    always?: boolean
    /** Accessible without signing in if public packages are enabled on the server. */
    browsing?: boolean
  }
}

/** Returns the routes of a package's tabs, which are the same for the latest version and for a specific version. */
const packageTabs = (prefix: string): RouteRecordRaw[] => [
  { path: '', name: `${prefix}-readme`, component: () => import('./package/readme-page.vue') },
  { path: 'changelog', name: `${prefix}-changelog`, component: () => import('./package/changelog-page.vue') },
  { path: 'example', name: `${prefix}-example`, component: () => import('./package/example-page.vue') },
  { path: 'license', name: `${prefix}-license`, component: () => import('./package/license-page.vue') },
  { path: 'dependencies', name: `${prefix}-dependencies`, component: () => import('./package/dependencies-page.vue') },
  { path: 'install', name: `${prefix}-install`, component: () => import('./package/install-page.vue') },
  { path: 'score', name: `${prefix}-score`, component: () => import('./score/score-page.vue') },
  { path: 'files/:path(.*)*', name: `${prefix}-files`, component: () => import('./files/files-page.vue') },
]
const legalPage = () => import('./legal/legal-page.vue')
const legalEditor = () => import('./legal/legal-editor-page.vue')
const helpPage = () => import('./help/help-page.vue')
const packageFrame = () => import('./package/package-frame.vue')

export const router = createRouter({
  history: createWebHistory(new URL(document.baseURI).pathname),
  routes: [
    { path: '/', name: 'home', component: () => import('./packages/home-page.vue'), meta: { browsing: true } },
    { path: '/setup', name: 'setup', component: () => import('./setup/setup-page.vue'), meta: { open: true } },
    { path: '/login', name: 'login', component: () => import('./sign-in/login-page.vue'), meta: { open: true } },
    { path: '/signup', name: 'signup', component: () => import('./sign-in/signup-page.vue'), meta: { open: true } },
    { path: '/invite/:token', name: 'invite', component: () => import('./sign-in/invite-page.vue'), meta: { open: true } },
    { path: '/welcome', name: 'welcome', component: () => import('./sign-in/welcome-page.vue') },
    { path: '/oauth/consent', name: 'consent', component: () => import('./sign-in/consent-page.vue') },
    { path: '/graphql', name: 'explorer', component: () => import('./explorer/explorer-page.vue'), meta: { open: true } },
    { path: '/privacy', name: 'privacy', component: legalPage, props: { kind: 'PRIVACY' }, meta: { open: true, always: true } },
    { path: '/terms', name: 'terms', component: legalPage, props: { kind: 'TERMS' }, meta: { open: true, always: true } },
    { path: '/help', name: 'help', component: helpPage, meta: { open: true, always: true } },
    { path: '/help/:page', name: 'help-page', component: helpPage, meta: { open: true, always: true } },
    { path: '/packages', name: 'packages', component: () => import('./packages/packages-page.vue'), meta: { browsing: true } },
    {
      path: '/packages/:name',
      component: packageFrame,
      meta: { browsing: true },
      children: [
        ...packageTabs('package'),
        { path: 'versions', name: 'package-versions', component: () => import('./package/versions-page.vue') },
        { path: 'compare', name: 'package-compare', component: () => import('./compare/compare-page.vue') },
        { path: 'changes', redirect: ({ params, query }) => ({ name: 'package-compare', params, query }) },
        { path: 'advisories', name: 'package-advisories', component: () => import('./advisories/package-advisories-page.vue') },
        {
          path: 'dependents',
          name: 'package-dependents',
          component: () => import('./package/dependents-page.vue'),
          meta: { browsing: false },
        },
        {
          path: 'downloads',
          name: 'package-downloads',
          component: () => import('./package/downloads-page.vue'),
          meta: { browsing: false },
        },
        {
          path: 'activity',
          name: 'package-activity',
          component: () => import('./package/package-activity-page.vue'),
          meta: { browsing: false },
        },
        { path: 'admin', name: 'package-admin', component: () => import('./package/package-admin-page.vue'), meta: { browsing: false } },
      ],
    },
    { path: '/packages/:name/versions/:version', component: packageFrame, meta: { browsing: true }, children: packageTabs('version') },
    {
      path: '/mirror',
      component: () => import('./mirror/mirror-frame.vue'),
      children: [
        { path: '', name: 'mirror', component: () => import('./mirror/mirror-page.vue'), meta: { browsing: true } },
        { path: 'policies', name: 'mirror-policies', component: () => import('./mirror/policies-page.vue') },
        { path: 'decisions', name: 'mirror-decisions', component: () => import('./mirror/decisions-page.vue') },
      ],
    },
    {
      path: '/mirror/packages/:name',
      name: 'upstream-package',
      component: () => import('./mirror/upstream-package-page.vue'),
      meta: { browsing: true },
    },
    { path: '/publishers', name: 'publishers', component: () => import('./publishers/publishers-page.vue') },
    { path: '/publishers/verify', name: 'claim-domain', component: () => import('./publishers/claim-page.vue') },
    {
      path: '/publishers/:slug',
      component: () => import('./publishers/publisher-frame.vue'),
      children: [
        { path: '', name: 'publisher', component: () => import('./publishers/publisher-packages-page.vue') },
        { path: 'members', name: 'publisher-members', component: () => import('./publishers/members-page.vue') },
        { path: 'activity', name: 'publisher-activity', component: () => import('./publishers/publisher-activity-page.vue') },
        { path: 'settings', name: 'publisher-settings', component: () => import('./publishers/publisher-settings-page.vue') },
      ],
    },
    {
      path: '/me',
      component: () => import('./me/me-frame.vue'),
      redirect: { name: 'my-packages' },
      children: [
        { path: 'packages', name: 'my-packages', component: () => import('./me/my-packages-page.vue') },
        { path: 'publishers', name: 'my-publishers', component: () => import('./me/my-publishers-page.vue') },
        { path: 'liked', name: 'my-likes', component: () => import('./me/liked-page.vue') },
        { path: 'watching', name: 'my-watches', component: () => import('./me/watching-page.vue') },
        { path: 'activity', name: 'my-activity', component: () => import('./me/my-activity-page.vue') },
      ],
    },
    {
      path: '/settings',
      component: () => import('./account/settings-frame.vue'),
      children: [
        { path: '', redirect: { name: 'profile' } },
        { path: 'profile', name: 'profile', component: () => import('./account/profile-page.vue') },
        { path: 'security', name: 'security', component: () => import('./account/security-page.vue') },
        { path: 'sessions', name: 'sessions', component: () => import('./account/sessions-page.vue') },
        { path: 'tokens', name: 'tokens', component: () => import('./tokens/tokens-page.vue') },
      ],
    },
    {
      path: '/admin',
      component: () => import('./shell/admin-frame.vue'),
      children: [
        { path: '', name: 'admin', component: () => import('./overview/overview-page.vue') },
        { path: 'users', name: 'admin-users', component: () => import('./users/users-page.vue') },
        { path: 'users/:id', name: 'admin-user', component: () => import('./users/user-page.vue') },
        { path: 'publishers', name: 'admin-publishers', component: () => import('./publishers/managed-publishers-page.vue') },
        { path: 'packages', name: 'admin-packages', component: () => import('./managed-packages/managed-packages-page.vue') },
        { path: 'deleted', name: 'admin-deleted', component: () => import('./deleted-packages/deleted-packages-page.vue') },
        { path: 'names', name: 'admin-names', component: () => import('./names/names-page.vue') },
        { path: 'sdks', name: 'admin-sdks', component: () => import('./sdks/sdks-page.vue') },
        { path: 'scoring', name: 'admin-scoring', component: () => import('./scoring/scoring-page.vue') },
        { path: 'jobs', name: 'admin-jobs', component: () => import('./jobs/jobs-page.vue') },
        { path: 'self-check', name: 'admin-self-check', component: () => import('./self-check/self-check-page.vue') },
        { path: 'advisories', name: 'admin-advisories', component: () => import('./advisories/advisory-import-page.vue') },
        { path: 'audit', name: 'admin-audit', component: () => import('./audit/audit-page.vue') },
        { path: 'public-packages', name: 'admin-public-packages', component: () => import('./visibility/public-packages-page.vue') },
        { path: 'settings/registry', name: 'admin-registry', component: () => import('./registry/registry-page.vue') },
        { path: 'settings/legal', name: 'admin-legal', component: legalEditor, props: { kind: 'PRIVACY' } },
        { path: 'settings/legal/terms', name: 'admin-legal-terms', component: legalEditor, props: { kind: 'TERMS' } },
        { path: 'ownership', name: 'admin-ownership', component: () => import('./users/ownership-page.vue') },
      ],
    },
    { path: '/:path(.*)*', name: 'not-found', component: () => import('./shell/not-found-page.vue'), meta: { open: true } },
  ],
  scrollBehavior: (to, from, saved) => {
    if (saved) return saved
    if (to.name?.toString().endsWith('-files') && /^#L\d/.test(to.hash)) return undefined // the page scrolls to its lines
    if (to.hash) return { el: `[id="${CSS.escape(to.hash.slice(1))}"]`, top: headerHeight() }
    return to.path === from.path || isSameSubject(to, from) ? undefined : { top: 0 }
  },
})

/** Returns the height that the sticky header covers, in pixels. Unlike browsers, the router does not apply `scroll-padding-top`. */
const headerHeight = () => Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop)

/** Returns the route of the sign-in page, which returns to `path` afterwards. */
export const loginRoute = (path: string) => ({ name: 'login', query: path === '/' ? {} : { redirect: path } })

/** Returns the route of the page for choosing a new password, which continues to `to` afterwards. */
function welcomeRoute(to: RouteLocationNormalized) {
  const redirect = to.name === 'login' ? to.query.redirect : to.fullPath
  return { name: 'welcome', query: redirect && redirect !== '/' ? { redirect } : {}, replace: true }
}

router.beforeEach(async (to) => {
  // If the session cannot be loaded, app.vue shows the failure instead of the page.
  if (!(await loadSession()) || to.meta.always) return true
  const { setup, viewer } = useSession()
  if (setup.value?.needsSetup) return to.name === 'setup' ? true : { name: 'setup', replace: true }
  if (to.name === 'setup') return { name: 'home', replace: true }
  if (viewer.value?.mustChangePassword) return to.name === 'welcome' ? true : welcomeRoute(to)
  if (to.name === 'welcome' && viewer.value) return { name: 'home', replace: true }
  const open = to.meta.open || (to.meta.browsing && setup.value?.publicBrowsing)
  return open || viewer.value ? true : loginRoute(to.fullPath)
})

const isSameSubject = (to: RouteLocationNormalized, from: RouteLocationNormalized) =>
  subjectOf(to) === subjectOf(from) && subjectOf(to) !== '//'

/** Identifies the package, version or publisher of a route. Switching between tabs of the same subject keeps the scroll position. */
const subjectOf = ({ params: { name, slug, version } }: RouteLocationNormalized) => [name, slug, version].join('/')
