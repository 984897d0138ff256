import { createRouter, createWebHistory, type RouteLocationNormalized, type RouteRecordRaw } from 'vue-router'
import { loadSession, useSession } from './composables/session.ts'

declare module 'vue-router' {
  interface RouteMeta {
    /** Open to anybody, signed in or not. */
    open?: boolean
    /** Shows whatever state the server is in: without a setup, and even without an answer. */
    always?: boolean
    /** May be read without signing in where the server offers public packages. */
    browsing?: boolean
  }
}

/** The tabs of a package: the same for its latest version and for any other. */
const packageTabs = (prefix: string): RouteRecordRaw[] => [
  { path: '', name: `${prefix}-readme`, component: () => import('./pages/package/readme-page.vue') },
  { path: 'changelog', name: `${prefix}-changelog`, component: () => import('./pages/package/changelog-page.vue') },
  { path: 'example', name: `${prefix}-example`, component: () => import('./pages/package/example-page.vue') },
  { path: 'license', name: `${prefix}-license`, component: () => import('./pages/package/license-page.vue') },
  { path: 'dependencies', name: `${prefix}-dependencies`, component: () => import('./pages/package/dependencies-page.vue') },
  { path: 'install', name: `${prefix}-install`, component: () => import('./pages/package/install-page.vue') },
]
const legalPage = () => import('./pages/legal-page.vue')
const legalEditor = () => import('./pages/admin/legal-page.vue')
const packageFrame = () => import('./pages/package/package-frame.vue')

export const router = createRouter({
  history: createWebHistory(new URL(document.baseURI).pathname),
  routes: [
    { path: '/', name: 'home', component: () => import('./pages/home-page.vue'), meta: { browsing: true } },
    { path: '/setup', name: 'setup', component: () => import('./pages/setup-page.vue'), meta: { open: true } },
    { path: '/login', name: 'login', component: () => import('./pages/login-page.vue'), meta: { open: true } },
    { path: '/signup', name: 'signup', component: () => import('./pages/signup-page.vue'), meta: { open: true } },
    { path: '/invite/:token', name: 'invite', component: () => import('./pages/invite-page.vue'), meta: { open: true } },
    { path: '/welcome', name: 'welcome', component: () => import('./pages/welcome-page.vue') },
    { path: '/oauth/consent', name: 'consent', component: () => import('./pages/consent-page.vue') },
    { path: '/graphql', name: 'explorer', component: () => import('./pages/explorer-page.vue'), meta: { open: true } },
    { path: '/privacy', name: 'privacy', component: legalPage, props: { kind: 'PRIVACY' }, meta: { open: true, always: true } },
    { path: '/terms', name: 'terms', component: legalPage, props: { kind: 'TERMS' }, meta: { open: true, always: true } },
    { path: '/packages', name: 'packages', component: () => import('./pages/packages-page.vue'), meta: { browsing: true } },
    {
      path: '/packages/:name',
      component: packageFrame,
      meta: { browsing: true },
      children: [
        ...packageTabs('package'),
        { path: 'versions', name: 'package-versions', component: () => import('./pages/package/versions-page.vue') },
        { path: 'advisories', name: 'package-advisories', component: () => import('./pages/package/advisories-page.vue') },
        {
          path: 'dependents',
          name: 'package-dependents',
          component: () => import('./pages/package/dependents-page.vue'),
          meta: { browsing: false },
        },
        {
          path: 'activity',
          name: 'package-activity',
          component: () => import('./pages/package/activity-page.vue'),
          meta: { browsing: false },
        },
        { path: 'admin', name: 'package-admin', component: () => import('./pages/package/admin-page.vue'), meta: { browsing: false } },
      ],
    },
    { path: '/packages/:name/versions/:version', component: packageFrame, meta: { browsing: true }, children: packageTabs('version') },
    { path: '/publishers', name: 'publishers', component: () => import('./pages/publishers-page.vue') },
    { path: '/publishers/verify', name: 'claim-domain', component: () => import('./pages/claim-page.vue') },
    {
      path: '/publishers/:slug',
      component: () => import('./pages/publisher/publisher-frame.vue'),
      children: [
        { path: '', name: 'publisher', component: () => import('./pages/publisher/packages-page.vue') },
        { path: 'members', name: 'publisher-members', component: () => import('./pages/publisher/members-page.vue') },
        { path: 'activity', name: 'publisher-activity', component: () => import('./pages/publisher/activity-page.vue') },
        { path: 'settings', name: 'publisher-settings', component: () => import('./pages/publisher/settings-page.vue') },
      ],
    },
    {
      path: '/me',
      component: () => import('./pages/me/me-frame.vue'),
      redirect: { name: 'my-packages' },
      children: [
        { path: 'packages', name: 'my-packages', component: () => import('./pages/me/packages-page.vue') },
        { path: 'publishers', name: 'my-publishers', component: () => import('./pages/me/publishers-page.vue') },
        { path: 'activity', name: 'my-activity', component: () => import('./pages/me/activity-page.vue') },
      ],
    },
    {
      path: '/settings',
      component: () => import('./pages/settings/settings-frame.vue'),
      children: [
        { path: '', redirect: { name: 'profile' } },
        { path: 'profile', name: 'profile', component: () => import('./pages/settings/profile-page.vue') },
        { path: 'security', name: 'security', component: () => import('./pages/settings/security-page.vue') },
        { path: 'sessions', name: 'sessions', component: () => import('./pages/settings/sessions-page.vue') },
        { path: 'tokens', name: 'tokens', component: () => import('./pages/tokens-page.vue') },
      ],
    },
    {
      path: '/admin',
      component: () => import('./pages/admin/admin-frame.vue'),
      children: [
        { path: '', name: 'admin', component: () => import('./pages/admin/overview-page.vue') },
        { path: 'users', name: 'admin-users', component: () => import('./pages/admin/users-page.vue') },
        { path: 'users/:id', name: 'admin-user', component: () => import('./pages/admin/user-page.vue') },
        { path: 'publishers', name: 'admin-publishers', component: () => import('./pages/admin/publishers-page.vue') },
        { path: 'packages', name: 'admin-packages', component: () => import('./pages/admin/packages-page.vue') },
        { path: 'names', name: 'admin-names', component: () => import('./pages/admin/names-page.vue') },
        { path: 'jobs', name: 'admin-jobs', component: () => import('./pages/admin/jobs-page.vue') },
        { path: 'self-check', name: 'admin-self-check', component: () => import('./pages/admin/self-check-page.vue') },
        { path: 'advisories', name: 'admin-advisories', component: () => import('./pages/admin/advisories-page.vue') },
        { path: 'audit', name: 'admin-audit', component: () => import('./pages/admin/audit-page.vue') },
        { path: 'public-packages', name: 'admin-public-packages', component: () => import('./pages/admin/public-packages-page.vue') },
        { path: 'settings/legal', name: 'admin-legal', component: legalEditor, props: { kind: 'PRIVACY' } },
        { path: 'settings/legal/terms', name: 'admin-legal-terms', component: legalEditor, props: { kind: 'TERMS' } },
        { path: 'ownership', name: 'admin-ownership', component: () => import('./pages/admin/ownership-page.vue') },
      ],
    },
    { path: '/:path(.*)*', name: 'not-found', component: () => import('./pages/not-found-page.vue'), meta: { open: true } },
  ],
  scrollBehavior: (to, from, saved) => {
    if (saved) return saved
    if (to.hash) return { el: `[id="${CSS.escape(to.hash.slice(1))}"]` }
    return to.path === from.path || isSamePackage(to.params, from.params) ? undefined : { top: 0 }
  },
})

/** Where to sign in, and come back from to `path`. */
export const loginRoute = (path: string) => ({ name: 'login', query: path === '/' ? {} : { redirect: path } })

/** Where to choose a new password, and come back from to where `to` leads. */
function welcomeRoute(to: RouteLocationNormalized) {
  const redirect = to.name === 'login' ? to.query.redirect : to.fullPath
  return { name: 'welcome', query: redirect && redirect !== '/' ? { redirect } : {}, replace: true }
}

router.beforeEach(async (to) => {
  // Without an answer, app.vue shows the failure instead of the page.
  if (!(await loadSession()) || to.meta.always) return true
  const { setup, viewer } = useSession()
  if (setup.value?.needsSetup) return to.name === 'setup' ? true : { name: 'setup', replace: true }
  if (to.name === 'setup') return { name: 'home', replace: true }
  if (viewer.value?.mustChangePassword) return to.name === 'welcome' ? true : welcomeRoute(to)
  if (to.name === 'welcome' && viewer.value) return { name: 'home', replace: true }
  const open = to.meta.open || (to.meta.browsing && setup.value?.publicBrowsing)
  return open || viewer.value ? true : loginRoute(to.fullPath)
})

const isSamePackage = (one: Record<string, unknown>, other: Record<string, unknown>) =>
  one.name !== undefined && one.name === other.name && one.version === other.version
