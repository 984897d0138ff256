import { useRoute } from 'vue-router'
import { usePageTitle } from '../shared/page-title.ts'

/** "http_kit – changelog", "http_kit 1.2.0": what the address says, so that the title never waits. */
export function usePackageTitle() {
  const route = useRoute()
  usePageTitle(() => {
    const { name, version } = route.params
    const tab = String(route.name).split('-').at(-1)
    return [[name, version].filter(Boolean).join(' '), tab === 'readme' ? '' : tab].filter(Boolean).join(' – ')
  })
}
