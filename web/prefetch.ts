import { loadRouteLocation, type RouteLocation, type Router } from 'vue-router'
import { useSession } from './sign-in/session.ts'
import { prefetchQuery } from './graphql.ts'
import { findQuery } from './operation.ts'
import type { FirstQuery, Variable } from './pages.ts'

/** Time in milliseconds that the pointer or the focus must rest on a link. Moving across a list loads nothing. */
const restMs = 80

/** Loads the scripts and the data of a page while the pointer or the focus is on a link to it. */
export function prefetchLinks(router: Router) {
  let rest: ReturnType<typeof setTimeout> | undefined
  const visit = ({ target }: Event) => {
    clearTimeout(rest)
    const link = target instanceof Element ? target.closest<HTMLAnchorElement>('a[href]') : null
    const { base } = router.options.history
    if (!link || link.target || link.origin !== location.origin || !link.pathname.startsWith(`${base}/`)) return
    rest = setTimeout(() => void prefetch(router.resolve(link.pathname.slice(base.length) + link.search), router), restMs)
  }
  for (const event of ['pointerover', 'focusin']) addEventListener(event, visit, { passive: true })
}

async function prefetch(to: RouteLocation, router: Router) {
  const isSaving = 'connection' in navigator && (navigator.connection as { saveData?: boolean }).saveData === true
  if (isSaving || !navigator.onLine || to.name === 'not-found' || to.path === router.currentRoute.value.path) return
  try {
    await loadRouteLocation(to)
  } catch {
    return // a click reports it
  }
  for (const { name, variables, withoutSearch } of to.matched.flatMap(({ meta }) => meta.queries ?? [])) {
    const query = findQuery(name)
    if (query && !(withoutSearch && Object.keys(to.query).length > 0)) prefetchQuery(query, resolveVariables(variables, to))
  }
}

function resolveVariables(variables: FirstQuery['variables'], { params }: RouteLocation): Record<string, unknown> {
  const { viewer } = useSession()
  const valueOf = (variable: Variable) => {
    if (typeof variable !== 'object' || variable === null) return variable
    if ('isSignedIn' in variable) return viewer.value !== undefined
    return 'isGiven' in variable ? variable.isGiven in params : [params[variable.param] ?? []].flat().join('/') || variable.otherwise
  }
  return Object.fromEntries(Object.entries(variables).map(([name, variable]) => [name, valueOf(variable)]))
}
