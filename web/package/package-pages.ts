import type { FirstQuery, Page, Variable } from '../pages.ts'

/** The variables of queries about the package and the version in the path (see `usePackageParams`). */
function shownVersion(): Record<string, Variable> {
  return { name: { param: 'name' }, version: { param: 'version', otherwise: '0.0.0' }, exact: { isGiven: 'version' } }
}

/** What the frame of a package sends. */
export const packageQueries: FirstQuery[] = [
  { name: 'Package', variables: { ...shownVersion(), signedIn: { isSignedIn: true } }, required: ['package', 'displayedVersion|version'] },
]

/** Returns the pages of a package's tabs, which are the same for the latest version and for a specific version. */
export const packageTabs = (prefix: string): Page[] => [
  {
    path: '',
    name: `${prefix}-readme`,
    module: 'package/readme-page.vue',
    queries: [{ name: 'VersionDocument', variables: { ...shownVersion(), readme: true } }],
  },
  {
    path: 'changelog',
    name: `${prefix}-changelog`,
    module: 'package/changelog-page.vue',
    queries: [{ name: 'VersionDocument', variables: { ...shownVersion(), changelog: true } }],
  },
  {
    path: 'example',
    name: `${prefix}-example`,
    module: 'package/example-page.vue',
    queries: [{ name: 'VersionDocument', variables: { ...shownVersion(), example: true } }],
  },
  {
    path: 'license',
    name: `${prefix}-license`,
    module: 'package/license-page.vue',
    queries: [{ name: 'VersionDocument', variables: { ...shownVersion(), license: true } }],
  },
  {
    path: 'dependencies',
    name: `${prefix}-dependencies`,
    module: 'package/dependencies-page.vue',
    queries: [{ name: 'Dependencies', variables: shownVersion() }],
  },
  {
    path: 'install',
    name: `${prefix}-install`,
    module: 'package/install-page.vue',
    queries: [{ name: 'Installation', variables: shownVersion() }],
  },
  { path: 'score', name: `${prefix}-score`, module: 'score/score-page.vue' },
  {
    path: 'api/:path(.*)*',
    name: `${prefix}-api`,
    module: 'api/api-page.vue',
    queries: [{ name: 'ApiPage', variables: { ...shownVersion(), path: { param: 'path', otherwise: '' } } }],
  },
  { path: 'files/:path(.*)*', name: `${prefix}-files`, module: 'files/files-page.vue' },
]
