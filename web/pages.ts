import { packageQueries, packageTabs } from './package/package-pages.ts'
import type { RouteLocationNormalized, RouteRecordSingleView } from 'vue-router'

/** A page of the console, or the frame around its children. The only list of them: for the router, the build, the server and the tests. */
export interface Page {
  /** Path of the page, relative to that of the frame. */
  path: string
  name?: string
  /** File of the component, relative to this folder. */
  module?: string
  meta?: RouteRecordSingleView['meta']
  props?: Record<string, unknown>
  redirect?: { name: string } | ((to: RouteLocationNormalized) => Pick<RouteLocationNormalized, 'name' | 'params' | 'query'>)
  children?: Page[]
  /**
   * The queries that the page sends when it opens. The server embeds their answers in the HTML page, so that it needs no request before it shows its
   * content. If the component uses other variables, it sends a request as usual.
   */
  queries?: FirstQuery[]
}

/** A query that a page sends when it opens. */
export interface FirstQuery {
  name: string
  variables: Record<string, Variable>
  /** Names of nested fields, each with alternatives separated by `|`. If one of them is null in the answer, the page has the status 404. */
  required?: string[]
  /** Whether the variables depend on the query string, so that the answer is embedded only if the URL has no query string. */
  withoutSearch?: boolean
}

/** The value of a variable: a constant, a parameter of the path, whether the path has this parameter, or whether the caller is signed in. */
export type Variable = string | number | boolean | null | { param: string; otherwise?: string } | { isGiven: string } | { isSignedIn: true }

/** The catch-all page, for paths that no other page has. */
export const anyPath = '/:path(.*)*'

export const pages: Page[] = [
  {
    path: '/',
    name: 'home',
    module: 'packages/home-page.vue',
    queries: [{ name: 'Home', variables: { signedIn: { isSignedIn: true } } }],
    meta: { browsing: true },
  },
  { path: '/setup', name: 'setup', module: 'setup/setup-page.vue', meta: { open: true } },
  {
    path: '/login',
    name: 'login',
    module: 'sign-in/login-page.vue',
    queries: [{ name: 'SignInWays', variables: {} }],
    meta: { open: true },
  },
  { path: '/signup', name: 'signup', module: 'sign-in/signup-page.vue', meta: { open: true } },
  { path: '/invite/:token', name: 'invite', module: 'sign-in/invite-page.vue', meta: { open: true } },
  { path: '/welcome', name: 'welcome', module: 'sign-in/welcome-page.vue' },
  { path: '/signed-in', name: 'signed-in', module: 'sign-in/signed-in-page.vue', meta: { open: true, always: true } },
  { path: '/oauth/consent', name: 'consent', module: 'sign-in/consent-page.vue' },
  { path: '/device', name: 'device', module: 'sign-in/device-page.vue' },
  { path: '/graphql', name: 'explorer', module: 'explorer/explorer-page.vue', meta: { open: true } },
  { path: '/api/docs', name: 'rest-reference', module: 'reference/reference-page.vue', meta: { open: true } },
  { path: '/privacy', name: 'privacy', module: 'legal/legal-page.vue', props: { kind: 'PRIVACY' }, meta: { open: true, always: true } },
  { path: '/terms', name: 'terms', module: 'legal/legal-page.vue', props: { kind: 'TERMS' }, meta: { open: true, always: true } },
  { path: '/help', name: 'help', module: 'help/help-page.vue', meta: { open: true, always: true } },
  { path: '/help/:page', name: 'help-page', module: 'help/help-page.vue', meta: { open: true, always: true } },
  {
    path: '/packages',
    name: 'packages',
    module: 'packages/packages-page.vue',
    queries: [{ name: 'SearchPackages', variables: { query: '', sort: 'PUBLISHED', first: 20, offset: 0 }, withoutSearch: true }],
    meta: { browsing: true },
  },
  {
    path: '/packages/:name',
    module: 'package/package-frame.vue',
    queries: packageQueries,
    meta: { browsing: true },
    children: [
      ...packageTabs('package'),
      {
        path: 'versions',
        name: 'package-versions',
        module: 'package/versions-page.vue',
        queries: [{ name: 'VersionGroups', variables: { name: { param: 'name' } } }],
      },
      { path: 'compare', name: 'package-compare', module: 'compare/compare-page.vue' },
      { path: 'changes', redirect: ({ params, query }) => ({ name: 'package-compare', params, query }) },
      { path: 'advisories', name: 'package-advisories', module: 'advisories/package-advisories-page.vue' },
      {
        path: 'dependents',
        name: 'package-dependents',
        module: 'package/dependents-page.vue',
        meta: { browsing: false },
      },
      {
        path: 'downloads',
        name: 'package-downloads',
        module: 'package/downloads-page.vue',
        meta: { browsing: false },
      },
      {
        path: 'activity',
        name: 'package-activity',
        module: 'package/package-activity-page.vue',
        meta: { browsing: false },
      },
      { path: 'admin', name: 'package-admin', module: 'package/package-admin-page.vue', meta: { browsing: false } },
    ],
  },
  {
    path: '/packages/:name/versions/:version',
    module: 'package/package-frame.vue',
    queries: packageQueries,
    meta: { browsing: true },
    children: packageTabs('version'),
  },
  {
    path: '/mirror',
    module: 'mirror/mirror-frame.vue',
    queries: [{ name: 'Mirror', variables: {} }],
    children: [
      { path: '', name: 'mirror', module: 'mirror/mirror-page.vue', meta: { browsing: true } },
      { path: 'policies', name: 'mirror-policies', module: 'mirror/policies-page.vue' },
      { path: 'decisions', name: 'mirror-decisions', module: 'mirror/decisions-page.vue' },
    ],
  },
  {
    path: '/mirror/packages/:name',
    name: 'upstream-package',
    module: 'mirror/upstream-package-page.vue',
    meta: { browsing: true },
  },
  { path: '/upgrade', name: 'upgrade', module: 'compare/upgrade-page.vue', meta: { browsing: true } },
  { path: '/publishers', name: 'publishers', module: 'publishers/publishers-page.vue' },
  { path: '/publishers/verify', name: 'claim-domain', module: 'publishers/claim-page.vue' },
  {
    path: '/publishers/:slug',
    module: 'publishers/publisher-frame.vue',
    queries: [{ name: 'Publisher', variables: { slug: { param: 'slug' } }, required: ['publisher'] }],
    children: [
      { path: '', name: 'publisher', module: 'publishers/publisher-packages-page.vue' },
      { path: 'members', name: 'publisher-members', module: 'publishers/members-page.vue' },
      { path: 'activity', name: 'publisher-activity', module: 'publishers/publisher-activity-page.vue' },
      { path: 'service-accounts', name: 'publisher-service-accounts', module: 'service-accounts/publisher-service-accounts-page.vue' },
      {
        path: 'trusted-publishing',
        name: 'publisher-trusted-publishing',
        module: 'trusted-publishing/publisher-trusted-publishing-page.vue',
      },
      { path: 'settings', name: 'publisher-settings', module: 'publishers/publisher-settings-page.vue' },
    ],
  },
  {
    path: '/me',
    module: 'me/me-frame.vue',
    redirect: { name: 'my-packages' },
    children: [
      { path: 'packages', name: 'my-packages', module: 'me/my-packages-page.vue' },
      { path: 'publishers', name: 'my-publishers', module: 'me/my-publishers-page.vue' },
      { path: 'liked', name: 'my-likes', module: 'me/liked-page.vue' },
      { path: 'watching', name: 'my-watches', module: 'me/watching-page.vue' },
      { path: 'activity', name: 'my-activity', module: 'me/my-activity-page.vue' },
    ],
  },
  {
    path: '/settings',
    module: 'account/settings-frame.vue',
    children: [
      { path: '', redirect: { name: 'profile' } },
      { path: 'profile', name: 'profile', module: 'account/profile-page.vue' },
      { path: 'security', name: 'security', module: 'security/security-page.vue' },
      { path: 'sessions', name: 'sessions', module: 'account/sessions-page.vue' },
      { path: 'tokens', name: 'tokens', module: 'tokens/tokens-page.vue' },
    ],
  },
  {
    path: '/admin',
    module: 'shell/admin-frame.vue',
    children: [
      {
        path: '',
        name: 'admin',
        module: 'overview/overview-page.vue',
        queries: [
          { name: 'Attention', variables: {} },
          { name: 'SetupChecklist', variables: {} },
          { name: 'Statistics', variables: {} },
          { name: 'RecentActions', variables: {} },
        ],
      },
      { path: 'users', name: 'admin-users', module: 'users/users-page.vue' },
      {
        path: 'users/:id',
        name: 'admin-user',
        module: 'users/user-page.vue',
        queries: [{ name: 'User', variables: { uuid: { param: 'id' }, actor: { param: 'id' } }, required: ['user'] }],
      },
      { path: 'service-accounts', name: 'admin-service-accounts', module: 'service-accounts/service-accounts-page.vue' },
      { path: 'token-issuers', name: 'admin-token-issuers', module: 'trusted-publishing/token-issuers-page.vue' },
      { path: 'publishers', name: 'admin-publishers', module: 'publishers/managed-publishers-page.vue' },
      { path: 'packages', name: 'admin-packages', module: 'managed-packages/managed-packages-page.vue' },
      { path: 'deleted', name: 'admin-deleted', module: 'deleted-packages/deleted-packages-page.vue' },
      { path: 'names', name: 'admin-names', module: 'names/names-page.vue' },
      { path: 'sdks', name: 'admin-sdks', module: 'sdks/sdks-page.vue' },
      { path: 'scoring', name: 'admin-scoring', module: 'scoring/scoring-page.vue' },
      { path: 'jobs', name: 'admin-jobs', module: 'jobs/jobs-page.vue' },
      { path: 'self-check', name: 'admin-self-check', module: 'self-check/self-check-page.vue' },
      { path: 'advisories', name: 'admin-advisories', module: 'advisories/advisory-import-page.vue' },
      { path: 'audit', name: 'admin-audit', module: 'audit/audit-page.vue' },
      { path: 'public-packages', name: 'admin-public-packages', module: 'visibility/public-packages-page.vue' },
      { path: 'settings/registry', name: 'admin-registry', module: 'registry/registry-page.vue' },
      { path: 'settings/legal', name: 'admin-legal', module: 'legal/legal-editor-page.vue', props: { kind: 'PRIVACY' } },
      { path: 'settings/legal/terms', name: 'admin-legal-terms', module: 'legal/legal-editor-page.vue', props: { kind: 'TERMS' } },
      { path: 'sign-in', name: 'admin-sign-in', module: 'providers/providers-page.vue' },
      { path: 'ownership', name: 'admin-ownership', module: 'users/ownership-page.vue' },
    ],
  },
  { path: anyPath, name: 'not-found', module: 'shell/not-found-page.vue', meta: { open: true } },
]
