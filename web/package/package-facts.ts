import { computed } from 'vue'
import type { VersionDetailsFragment } from '../generated/graphql.ts'
import { bytes, counted } from '../shared/format.ts'
import { valueTitle } from '../search/search-query.ts'

const sdkNames: Record<string, string> = { sdk: 'Dart', flutter: 'Flutter' }

/** Returns the facts about a version that the sidebar shows, as texts and links. */
export function usePackageFacts(shown: () => { name: string; version: VersionDetailsFragment }) {
  const version = computed(() => shown().version)
  const links = computed(() => {
    const { homepage, repository, issueTracker, documentation, funding } = version.value
    return [
      { label: 'Repository', icon: 'i-lucide-git-branch', url: repository },
      { label: 'Home page', icon: 'i-lucide-globe', url: homepage },
      { label: 'Documentation', icon: 'i-lucide-book-open', url: documentation },
      { label: 'Issues', icon: 'i-lucide-circle-dot', url: issueTracker },
      ...funding.map((url) => ({ label: `Support: ${new URL(url).host}`, icon: 'i-lucide-heart', url })),
    ].flatMap(({ url, ...link }) => (url ? [{ ...link, url }] : []))
  })
  const license = computed(() => {
    const { licenseId, license: file } = version.value
    return licenseId && (licenseId !== 'unknown' || file) ? valueTitle('license', licenseId.toLowerCase()) : file?.path
  })
  const environment = computed(() => version.value.environment.map(({ sdk, constraint }) => ({ sdk: sdkNames[sdk] ?? sdk, constraint })))
  const dependencies = computed(() =>
    counted(version.value.dependencies.filter(({ kind }) => kind === 'DIRECT').length, 'dependency', 'dependencies'),
  )
  const pageOf = (page: string) => ({ name: `version-${page}`, params: { name: shown().name, version: version.value.version } })
  return { links, license, environment, dependencies, size: computed(() => bytes(version.value.archiveBytes)), pageOf }
}
