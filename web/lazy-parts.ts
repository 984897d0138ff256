import type { Plugin } from 'vite'

const virtualizer = /\/reka-ui\/dist\/Listbox\/ListboxVirtualizer\.js$/

/**
 * Vite plugin that loads the virtualization of lists, which only very long lists use, when a list needs it. Otherwise every page would load it
 * with the search field.
 */
export function lazyParts(): Plugin {
  return {
    name: 'lazy-parts',
    enforce: 'pre',
    transform: {
      filter: { id: virtualizer },
      handler: () => ({
        code: `import { defineAsyncComponent } from 'vue'
export const ListboxVirtualizer_default = /* @__PURE__ */ defineAsyncComponent(() =>
  import('./ListboxVirtualizer.js?complete').then((module) => module.ListboxVirtualizer_default))`,
        map: null,
      }),
    },
  }
}
