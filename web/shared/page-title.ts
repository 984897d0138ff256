import { inject, type InjectionKey, type MaybeRefOrGetter, onMounted, toValue, useTemplateRef, watch, watchEffect } from 'vue'
import { type Router, START_LOCATION } from 'vue-router'
import { announce } from './announce.ts'
import { registry } from './registry.ts'

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

/**
 * Sets the document's title, most specific part first ("Changelog · acme · Snug"), and announces it to screen readers. The last part is the name of
 * the registry, which is the whole title if `title` is empty.
 */
export function usePageTitle(title: MaybeRefOrGetter<string>) {
  const section = inject(titleSectionKey, '')
  watchEffect(() => {
    document.title = [toValue(title), section, registry.value.name].filter(Boolean).join(' · ')
  })
  watch(
    () => toValue(title),
    (text) => {
      if (navigated) announce(text || registry.value.name)
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
