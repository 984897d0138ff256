import { useDark } from '@vueuse/core'
import { init } from 'virtual:nuxt-ui-icons'
import { addIcon } from './icons.ts'

/** Vue plugin that sets up Nuxt UI like its own plugin, without the packages that it needs to compute the colors at run time (see colors.css). */
export const nuxtUi = {
  install() {
    useDark()
    init((name, icon) => addIcon(name.replace(':', '-'), icon))
  },
}
