import { inject, type InjectionKey, type MaybeRefOrGetter, onMounted, toValue, useTemplateRef, watch } from 'vue'
import { type Router, START_LOCATION } from 'vue-router'
import { announce } from './announce.ts'

let navigated = false
let hasInteracted = false

/**
 * Tracks whether the current page was reached by navigation within the console, and whether the user has interacted since. A new page's heading
 * receives the focus, but must not take it from a menu or a field that the user has moved to while the page was loading.
 */
export function trackNavigation(router: Router) {
  router.beforeEach(() => {
    hasInteracted = false
  })
  router.afterEach((_to, from) => {
    navigated ||= from !== START_LOCATION
  })
  for (const event of ['pointerdown', 'keydown']) addEventListener(event, () => (hasInteracted = true), { capture: true, passive: true })
}

/** Injection key of a section name for page titles, such as "Administration". Sections distinguish pages with equal titles. */
export const titleSectionKey: InjectionKey<string> = Symbol('title section')

/** Sets the document's title, most specific part first ("Changelog · acme · Snug"), and announces it to screen readers. */
export function usePageTitle(title: MaybeRefOrGetter<string>) {
  const section = inject(titleSectionKey, '')
  watch(
    () => toValue(title),
    (text) => {
      document.title = text === 'Snug' ? text : [text, section, 'Snug'].filter(Boolean).join(' · ')
      if (navigated) announce(text)
    },
    { immediate: true },
  )
}

/** Moves the focus to the page's heading. Call this when the focused element is removed. */
export const focusHeading = () => document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })

/** Moves the focus to the page's heading after navigation, so that screen readers continue there. */
export function useHeadingFocus(name: string) {
  const heading = useTemplateRef<HTMLElement>(name)
  onMounted(() => {
    if (navigated && !hasInteracted) heading.value?.focus({ preventScroll: true })
  })
}
