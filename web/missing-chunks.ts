import { shallowRef } from 'vue'
import { type RouteLocationNormalized, type Router, START_LOCATION } from 'vue-router'
import { type Failure, unreachable } from './graphql.ts'
import { focusHeading } from './shared/page-title.ts'

/** A navigation that failed because a script of its page could not be loaded. */
interface FailedNavigation {
  failure: Failure
  to: RouteLocationNormalized
  /** Whether there is no page to return to. */
  isFirst: boolean
  /** The document's title before the failure. */
  title: string
}

/** The last navigation if it failed. app.vue shows the failure in place of the current page, which keeps its state. */
export const failedNavigation = shallowRef<FailedNavigation>()

const chunkMissing: Failure = {
  code: 'PageIncomplete',
  message: 'A part of this page could not be loaded. Try again. If the problem persists, contact an administrator of this server.',
}

const stillOpen: Failure = {
  code: unreachable.code,
  message: 'Check the connection, then try again. The page that you came from keeps what you entered.',
}

/**
 * Recovers from missing script chunks. After an upgrade, tabs that are still open request chunks that no longer exist; reloading the target page
 * fetches the new ones. If the server does not respond, or if a chunk is missing on the first page after a load, the failure is shown instead.
 */
export function recoverMissingChunks(router: Router) {
  let missing: unknown
  addEventListener('vite:preloadError', ({ payload }) => (missing = payload))
  router.onError(async (error, to, from) => {
    if (error !== missing) return
    const isFirst = from === START_LOCATION
    const { href } = router.resolve(to)
    const isUp = await isReachable(href)
    if (isUp && !isFirst) location.assign(href)
    else failedNavigation.value = { to, isFirst, failure: isUp ? chunkMissing : isFirst ? unreachable : stillOpen, title: document.title }
  })
  router.afterEach((_to, _from, failure) => {
    if (!failure) failedNavigation.value = undefined
  })
}

/** Shows a failure in place of the page after a part of it that is loaded on demand, such as a menu, could not be loaded. */
export async function reportMissingPart({ currentRoute }: Router) {
  const failure = (await isReachable(location.href)) ? chunkMissing : stillOpen
  failedNavigation.value = { to: currentRoute.value, isFirst: false, failure, title: document.title }
}

/** Repeats what failed: the last navigation, or the load of the page. Reloads only if the server responds, else the browser would show its error. */
export async function tryAgain(router: Router) {
  const failed = failedNavigation.value
  if (failed && !failed.isFirst && failed.to !== router.currentRoute.value) await router.push(failed.to).catch(() => undefined)
  else if (await isReachable(location.href)) location.reload()
}

/** Shows the page that the failed navigation started from. */
export function dismissFailure() {
  if (failedNavigation.value) document.title = failedNavigation.value.title
  failedNavigation.value = undefined
  setTimeout(focusHeading)
}

/** Whether the server, and not only a proxy in front of it, answers a request for a page. */
const isReachable = (href: string) =>
  fetch(href, { method: 'HEAD', cache: 'no-store' }).then(
    ({ status }) => status < 500,
    () => false,
  )
