import { type MaybeRefOrGetter, onMounted, toValue, useTemplateRef, watch } from 'vue'
import { type Router, START_LOCATION } from 'vue-router'
import { announce } from './announce.ts'

let navigated = false

/** Remembers that the page on show was reached by a link of ours: only then may a heading take the focus. */
export function trackNavigation(router: Router) {
  router.afterEach((_to, from) => {
    navigated ||= from !== START_LOCATION
  })
}

/** Names the page in the window's title and says so to screen readers. */
export function usePageTitle(title: MaybeRefOrGetter<string>) {
  watch(
    () => toValue(title),
    (text) => {
      document.title = text === 'Snug' ? text : `${text} · Snug`
      if (navigated) announce(text)
    },
    { immediate: true },
  )
}

/** Gives the focus to the page's heading when what had it is gone, or will be. */
export const focusHeading = () => document.querySelector<HTMLElement>('h1')?.focus()

/** Gives the focus to the page's heading when the page was reached by a link, as a browser would. */
export function useHeadingFocus(name: string) {
  const heading = useTemplateRef<HTMLElement>(name)
  onMounted(() => {
    if (navigated) heading.value?.focus({ preventScroll: true })
  })
}
