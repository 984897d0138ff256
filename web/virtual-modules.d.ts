declare module 'virtual:nuxt-ui-icons' {
  import type { IconifyIcon } from '@iconify/vue'

  /** Calls `add` with each icon that the build found in the sources. */
  export function init(add: (name: string, icon: IconifyIcon) => void): void
}
