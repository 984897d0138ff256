import type { Component } from 'vue'
import { createRouter, createWebHistory, type RouteLocationNormalized, type RouteRecordRaw } from 'vue-router'
import { type FirstQuery, type Page, pages } from './pages.ts'
import { loadSession, useSession } from './sign-in/session.ts'

declare module 'vue-router' {
  interface RouteMeta {
    /** Accessible without signing in. */
    open?: boolean
    /** Accessible in any state of the server: before the setup, and while the server does not respond. */
    always?: boolean
    /** Accessible without signing in if public packages are enabled on the server. */
    browsing?: boolean
    /** The queries that the page sends when it opens. */
    queries?: FirstQuery[]
  }
}

/** All components of pages, loaded on demand. */
const modules = import.meta.glob<Component>('./*/*-{page,frame}.vue')

/** Returns the route of a page. */
function routeOf({ module, children, queries, ...page }: Page): RouteRecordRaw {
  const component = module === undefined ? undefined : modules[`./${module}`]
  return {
    ...page,
    meta: { ...page.meta, queries: queries ?? [] },
    ...(component && { component }),
    ...(children && { children: children.map(routeOf) }),
  } as RouteRecordRaw
}

export const router = createRouter({
  history: createWebHistory(new URL(document.baseURI).pathname),
  routes: pages.map(routeOf),
  scrollBehavior: (to, from, saved) => {
    if (saved) return saved
    if (ownScrolling.some(([page, hash]) => to.name?.toString().endsWith(page) && hash.test(to.hash))) return undefined
    if (to.hash) return { el: `[id="${CSS.escape(to.hash.slice(1))}"]`, top: headerHeight() }
    return to.path === from.path || (isSameSubject(to, from) && !changesPackageTab(to, from)) ? undefined : { top: 0 }
  },
})

/** Pages that scroll to the fragment themselves: to the lines of a file, and to the members of an API. */
const ownScrolling: [page: string, hash: RegExp][] = [
  ['-files', /^#L\d/],
  ['-api', /^#./],
]

/** Returns the height that the sticky header covers, in pixels. Unlike browsers, the router does not apply `scroll-padding-top`. */
const headerHeight = () => Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop)

/** Returns the route of the sign-in page, which returns to `path` afterwards. */
export const loginRoute = (path: string) => ({ name: 'login', query: path === '/' ? {} : { redirect: path } })

/** Returns the route of a page that the user must complete first, which continues to `to` afterwards. */
function firstRoute(name: 'welcome' | 'security', to: RouteLocationNormalized) {
  if (to.name === name) return true
  const redirect = to.name === 'login' ? to.query.redirect : to.fullPath
  return { name, query: redirect && redirect !== '/' ? { redirect } : {}, replace: true }
}

router.beforeEach(async (to) => {
  // If the session cannot be loaded, app.vue shows the failure instead of the page.
  if (!(await loadSession()) || to.meta.always) return true
  const { setup, viewer } = useSession()
  if (setup.value?.needsSetup) return to.name === 'setup' ? true : { name: 'setup', replace: true }
  if (to.name === 'setup') return { name: 'home', replace: true }
  if (viewer.value?.mustChangePassword) return firstRoute('welcome', to)
  if (viewer.value?.mustProveSecondFactor) return firstRoute('security', to)
  if (to.name === 'welcome' && viewer.value) return { name: 'home', replace: true }
  const open = to.meta.open || (to.meta.browsing && setup.value?.publicBrowsing)
  return open || viewer.value ? true : loginRoute(to.fullPath)
})

const isSameSubject = (to: RouteLocationNormalized, from: RouteLocationNormalized) =>
  subjectOf(to) === subjectOf(from) && subjectOf(to) !== '//'

/** The header of a package is higher on the first tab, and its tabs stay in view on all. */
const changesPackageTab = (to: RouteLocationNormalized, from: RouteLocationNormalized) =>
  to.name !== from.name && /^(?:package|version)-/.test(String(to.name))

/** Identifies the package, version or publisher of a route. Switching between tabs of a publisher keeps the scroll position. */
const subjectOf = ({ params: { name, slug, version } }: RouteLocationNormalized) => [name, slug, version].join('/')
