import { defineShortcuts } from '@nuxt/ui/composables/defineShortcuts'
import { useLocalStorage } from '@vueuse/core'
import { computed } from 'vue'

/** Whether single-key shortcuts are on; people who use dictation or have a tremor switch them off (WCAG 2.1.4). */
export const singleKeys = useLocalStorage('snug-single-keys', true)

/** Keys that work everywhere. */
export function useGlobalShortcuts({ search, help }: { search: () => void; help: () => void }) {
  const shortcuts = computed(() => ({
    meta_k: { usingInput: true, handler: search },
    ...(singleKeys.value && { '/': search, '?': help }),
  }))
  defineShortcuts(shortcuts)
}

/** Puts the cursor into the first search box on the page. */
export function focusSearch() {
  const box = document.querySelector<HTMLInputElement>('main input[type=search], header input[type=search]')
  box?.focus()
  box?.select()
}
