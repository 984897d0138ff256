import { type MaybeRefOrGetter, onMounted, toValue, useTemplateRef, watch } from 'vue'
import { type Router, START_LOCATION } from 'vue-router'
import { announce } from './announce.ts'

let navigated = false

/** Remembers that the current page was reached by navigation within the console: only then may a heading take the focus. */
export function trackNavigation(router: Router) {
  router.afterEach((_to, from) => {
    navigated ||= from !== START_LOCATION
  })
}

/** Sets the document's title and announces it to screen readers. */
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

/** Moves the focus to the page's heading, when the element that has it is removed. */
export const focusHeading = () => document.querySelector<HTMLElement>('h1')?.focus()

/** Moves the focus to the page's heading after navigation, as a browser would. */
export function useHeadingFocus(name: string) {
  const heading = useTemplateRef<HTMLElement>(name)
  onMounted(() => {
    if (navigated) heading.value?.focus({ preventScroll: true })
  })
}
