import { inject, type InjectionKey, type MaybeRefOrGetter, onMounted, toValue, useTemplateRef, watch } from 'vue'
import { type Router, START_LOCATION } from 'vue-router'
import { announce } from './announce.ts'

let navigated = false
let hasMovedOn = false

/**
 * Remembers that the current page was reached by navigation within the console, and whether the user has done something since it began: a
 * heading may take the focus from a page that is gone, but not from a menu that was opened or a field that is typed into meanwhile.
 */
export function trackNavigation(router: Router) {
  router.beforeEach(() => {
    hasMovedOn = false
  })
  router.afterEach((_to, from) => {
    navigated ||= from !== START_LOCATION
  })
  for (const event of ['pointerdown', 'keydown']) addEventListener(event, () => (hasMovedOn = true), { capture: true, passive: true })
}

/** Names the part of the console that the pages below belong to, where their titles alone could be those of other pages. */
export const titleSectionKey: InjectionKey<string> = Symbol('title section')

/** Sets the document's title, the most particular first ("Changelog · acme · Snug"), and announces it to screen readers. */
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

/** Moves the focus to the page's heading, when the element that has it is removed. */
export const focusHeading = () => document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })

/** Moves the focus to the page's heading after navigation, as a browser would. */
export function useHeadingFocus(name: string) {
  const heading = useTemplateRef<HTMLElement>(name)
  onMounted(() => {
    if (navigated && !hasMovedOn) heading.value?.focus({ preventScroll: true })
  })
}
