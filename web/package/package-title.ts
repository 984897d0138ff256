import { useRoute } from 'vue-router'
import { usePageTitle } from '../shared/page-title.ts'
import { titleOfTab } from '../shared/tab-title.ts'

/** Sets the page title from the URL, before any data is loaded: "Changelog · http_kit", "http_kit 1.2.0". */
export function usePackageTitle() {
  const route = useRoute()
  usePageTitle(() => titleOfTab(route, [route.params.name, route.params.version].filter(Boolean).join(' ')))
}
