import { type Router, START_LOCATION } from 'vue-router'
import { useSession } from './sign-in/session.ts'
import type { Failure } from './graphql.ts'

const chunkMissing: Failure = {
  code: 'PageIncomplete',
  message: 'A part of this page could not be loaded. Try again. If the problem persists, contact an administrator of this server.',
}

/**
 * Recovers from missing script chunks. After an upgrade, tabs that are still open request chunks that no longer exist; reloading the target page
 * fetches the new ones. If a chunk is missing on the first page after a load, an error is shown instead, to avoid a reload loop.
 */
export function recoverMissingChunks(router: Router) {
  const { failure } = useSession()
  let missing: unknown
  addEventListener('vite:preloadError', ({ payload }) => (missing = payload))
  router.onError((error, to, from) => {
    if (error !== missing) return
    if (from === START_LOCATION) failure.value = chunkMissing
    else location.assign(router.resolve(to).href)
  })
  router.afterEach(() => {
    if (failure.value === chunkMissing) failure.value = undefined
  })
}
