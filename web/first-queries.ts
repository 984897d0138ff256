/**
 * The queries that pages send when they open, by component. The server embeds their answers in the HTML page, so that a page needs no request
 * before it shows its content. If the component uses other variables, it sends a request as usual.
 */
export const firstQueries: Record<string, FirstQuery[]> = {
  'packages/home-page.vue': [{ name: 'Home', variables: { signedIn: { isSignedIn: true } } }],
  'packages/packages-page.vue': [
    { name: 'SearchPackages', variables: { query: '', sort: 'PUBLISHED', first: 20, offset: 0 }, withoutSearch: true },
  ],
  'package/package-frame.vue': [
    {
      name: 'Package',
      variables: { ...shownVersion(), signedIn: { isSignedIn: true } },
      required: ['package', 'displayedVersion|version'],
    },
  ],
  'package/readme-page.vue': [{ name: 'VersionDocument', variables: { ...shownVersion(), readme: true } }],
  'package/changelog-page.vue': [{ name: 'VersionDocument', variables: { ...shownVersion(), changelog: true } }],
  'package/install-page.vue': [{ name: 'Installation', variables: shownVersion() }],
  'package/versions-page.vue': [{ name: 'VersionGroups', variables: { name: { param: 'name' } } }],
  'package/dependencies-page.vue': [{ name: 'Dependencies', variables: shownVersion() }],
  'mirror/mirror-frame.vue': [{ name: 'Mirror', variables: {} }],
  'publishers/publisher-frame.vue': [{ name: 'Publisher', variables: { slug: { param: 'slug' } }, required: ['publisher'] }],
  'users/user-page.vue': [{ name: 'User', variables: { uuid: { param: 'id' }, actor: { param: 'id' } }, required: ['user'] }],
  'overview/overview-page.vue': [
    { name: 'Attention', variables: {} },
    { name: 'SetupChecklist', variables: {} },
    { name: 'Statistics', variables: {} },
    { name: 'RecentActions', variables: {} },
  ],
}

/** A query that a page sends when it opens. */
export interface FirstQuery {
  name: string
  variables: Record<string, Variable>
  /** Names of nested fields, each with alternatives separated by `|`. If one of them is null in the answer, the page has the status 404. */
  required?: string[]
  /** Whether the variables depend on the query string, so that the answer is embedded only if the URL has no query string. */
  withoutSearch?: boolean
}

/** The value of a variable: a constant, a parameter of the path, whether the path has this parameter, or whether the caller is signed in. */
type Variable = string | number | boolean | null | { param: string; otherwise?: string } | { isGiven: string } | { isSignedIn: true }

/** The variables of queries about the package and the version in the path (see `usePackageParams`). */
function shownVersion(): Record<string, Variable> {
  return { name: { param: 'name' }, version: { param: 'version', otherwise: '0.0.0' }, exact: { isGiven: 'version' } }
}
