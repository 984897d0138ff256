import { defineShortcuts } from '@nuxt/ui/composables/defineShortcuts'
import { computed } from 'vue'
import { useRouter } from 'vue-router'
import { singleKeys } from '../shell/shortcuts.ts'
import { useFileRoute } from './files.ts'

/** Registers the key `.`, which opens the files of the package in the URL. */
export function useFilesShortcut() {
  const router = useRouter()
  const routeOf = useFileRoute()
  const open = () => void router.push(routeOf(''))
  defineShortcuts(computed(() => (singleKeys.value ? { '.': open } : {})))
}
