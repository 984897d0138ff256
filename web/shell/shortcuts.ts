import { defineShortcuts } from '@nuxt/ui/composables/defineShortcuts'
import { useLocalStorage } from '@vueuse/core'
import { computed } from 'vue'

/** Whether single-key shortcuts are enabled. They must be optional for users of dictation software (WCAG 2.1.4). */
export const singleKeys = useLocalStorage('snug-single-keys', true)

/** Registers the keyboard shortcuts that work on every page. */
export function useGlobalShortcuts({ search, palette, help }: Record<'search' | 'palette' | 'help', () => void>) {
  const shortcuts = computed(() => ({
    meta_k: { usingInput: true, handler: palette },
    ...(singleKeys.value && { '/': search, '?': help }),
  }))
  defineShortcuts(shortcuts)
}

/** Focuses the first search box on the page and selects its text. */
export function focusSearch() {
  const box = document.querySelector<HTMLInputElement>('main input[type=search], header input[type=search]')
  box?.focus()
  box?.select()
}
