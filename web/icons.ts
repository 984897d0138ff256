/**
 * Replaces `@iconify/vue` in Nuxt UI (see vite.config.ts) with its edition that only shows registered icons: the build contains all icons that are
 * used, and none may be fetched from another origin.
 */
export { addIcon, Icon } from '@iconify/vue/offline'

/** Whether an icon is registered. All are, before the first paint. */
export const iconLoaded = () => true
