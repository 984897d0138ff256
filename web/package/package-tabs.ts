import { computed } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import type { PackageQuery, VersionDetailsFragment } from '../generated/graphql.ts'
import { count } from '../shared/format.ts'
import type { LinkTab } from '../shared/link-tabs.ts'
import { useSession } from '../sign-in/session.ts'

interface Shown {
  name: string
  pkg?: NonNullable<PackageQuery['package']>
  version?: VersionDetailsFragment
}

/**
 * Returns the tabs of the package page: `tabs` for the row, `more` for the menu. Pages of the displayed version keep the version in their URL.
 * Pages that the displayed version does not have, that the user cannot see, or that the router does not know are omitted.
 */
export function usePackageTabs(shown: () => Shown) {
  const route = useRoute()
  const router = useRouter()
  const { viewer } = useSession()

  const linkTo = (page: string, isOfVersion: boolean, params: object): LinkTab['to'] | undefined => {
    const { version } = route.params
    const isExact = isOfVersion && Boolean(version)
    const name = `${isExact ? 'version' : 'package'}-${page}`
    if (!router.hasRoute(name)) return undefined
    return { name, params: { name: shown().name, ...(isExact && { version }), ...params } }
  }
  const tab = (label: string, page: string, { has = true, params = {}, isOfVersion = false, ...rest }: Options): LinkTab[] => {
    const to = has ? linkTo(page, isOfVersion, params) : undefined
    return to ? [{ label, to, ...rest }] : []
  }
  const ofVersion = (label: string, page: string, { has = true, ...rest }: Options = {}) =>
    tab(label, page, { has: has && (page === 'readme' || shown().version !== undefined), isOfVersion: true, ...rest })
  const ofPackage = (label: string, page: string, options: Options = {}) => tab(label, page, options)

  /** A tab whose path continues: the pages of single files, for example, are below the tab's own. */
  const withPages = (label: string, page: string, has = true) =>
    ofVersion(label, page, { has, params: { path: [] } }).map((one) => (one.to ? { ...one, above: router.resolve(one.to).path } : one))

  const tabs = computed(() => {
    const { pkg, version } = shown()
    return [
      ...ofVersion('Readme', 'readme'),
      ...ofVersion('Changelog', 'changelog', { has: version?.changelog != null }),
      ...ofPackage('Versions', 'versions', {
        ...(pkg && { count: count(pkg.versions.totalCount) }),
      }),
      ...ofVersion('Install', 'install'),
      ...withPages('API', 'api', isDocumented(version)),
      ...ofVersion('Score', 'score'),
      ...ofVersion('Dependencies', 'dependencies'),
      ...withPages('Files', 'files'),
    ]
  })
  const more = computed(() => {
    const { pkg, version } = shown()
    const advisories = pkg?.advisories.length ?? 0
    const isManager = pkg?.viewerCanAdminister === true
    return [
      ...ofVersion('Example', 'example', { has: version?.example != null }),
      ...ofVersion('License', 'license', { has: version?.license != null }),
      ...ofPackage('Dependents', 'dependents', { has: viewer.value !== undefined }),
      ...ofPackage('Downloads', 'downloads', { has: viewer.value !== undefined }),
      ...ofPackage('Compare versions', 'compare', { has: (pkg?.versions.totalCount ?? 0) > 1 }),
      ...ofPackage('Advisories', 'advisories', { has: advisories > 0, count: count(advisories) }),
      ...ofPackage('Activity', 'activity', { has: isManager }),
      ...ofPackage('Admin', 'admin', { has: isManager }),
    ]
  })
  return { tabs, more }
}

/** Whether a version has documentation, or will have it. */
const isDocumented = (version?: VersionDetailsFragment) =>
  version !== undefined && (version.apiDocumentation.url != null || ['PENDING', 'RUNNING'].includes(version.apiDocumentation.state))

interface Options extends Omit<LinkTab, 'label' | 'to'> {
  /** Whether the page exists for this package and user. */
  has?: boolean
  params?: object
  /** Whether the page shows a version, so that its URL can name one. */
  isOfVersion?: boolean
}
