import { type Router, START_LOCATION } from 'vue-router'
import { useSession } from './sign-in/session.ts'
import type { Failure } from './graphql.ts'

const partMissing: Failure = {
  code: 'PageIncomplete',
  message: 'A part of this page could not be loaded. Try again; if that does not help, tell an administrator of this server.',
}

/**
 * After an upgrade, an open tab requests parts of pages that no longer exist: it reloads at its destination, which fetches the new ones.
 * A tab that was just loaded and still misses some shows an error instead, so that it never reloads in a loop.
 */
export function recoverMissingParts(router: Router) {
  const { failure } = useSession()
  let missing: unknown
  addEventListener('vite:preloadError', ({ payload }) => (missing = payload))
  router.onError((error, to, from) => {
    if (error !== missing) return
    if (from === START_LOCATION) failure.value = partMissing
    else location.assign(router.resolve(to).href)
  })
  router.afterEach(() => {
    if (failure.value === partMissing) failure.value = undefined
  })
}
