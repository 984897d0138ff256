import type { ExplorerQuery } from '../generated/graphql.ts'

/** An example query with its variables as JSON. */
interface Example {
  title: string
  query: string
  variables?: string
}

/** Names that the examples use. */
interface ExampleNames {
  package: string
  /** Two versions of the package, the older one first. */
  from: string
  to: string
  publisher: string
  /** What the names stand for, as a sentence. */
  note: string
}

const placeholders = { package: 'acme', from: '1.0.0', to: '1.1.0', publisher: 'example.com' }

/** Chooses names that exist for the reader: a package of theirs or else any that they can see, with two versions if there is one. */
export function exampleNames(data: ExplorerQuery | undefined): ExampleNames {
  const own = data?.viewer?.packages?.nodes ?? []
  const packages = [...own, ...(data?.searchPackages?.nodes ?? [])]
  const chosen = packages.find(({ versions }) => versions.nodes.length > 1) ?? packages[0]
  const slug = data?.viewer?.memberships?.[0]?.publisher?.slug ?? packages.find(({ publisher }) => publisher)?.publisher?.slug
  const publisher = slug ?? placeholders.publisher
  if (!chosen) return { ...placeholders, publisher, note: 'You see no packages yet, so the examples contain names that do not exist here.' }
  const [to = placeholders.to, from = to] = chosen.versions.nodes.map(({ version }) => version)
  const owner = own.includes(chosen) ? 'your package' : 'the package'
  return {
    package: chosen.name,
    from,
    to,
    publisher,
    note: `The examples use ${owner} ${chosen.name}${slug ? ` and the publisher ${slug}` : ''}.`,
  }
}

const examples: { title: string; query: string; variables?: (names: ExampleNames) => object }[] = [
  {
    title: 'Search packages',
    query: `query Search($query: String!, $sort: PackageSort, $after: String) {
  searchPackages(query: $query, orderBy: $sort, first: 20, after: $after) {
    totalCount
    nodes { name description latest { version publishedAt score { passedChecks totalChecks } } }
    pageInfo { hasNextPage endCursor }
  }
}
`,
    variables: (names) => ({ query: names.package, sort: 'DOWNLOADS' }),
  },
  {
    title: 'Versions of a package',
    query: `query Versions($name: String!) {
  package(name: $name) {
    latest { version dependencies { name constraint source } }
    versions(first: 20) { nodes { version publishedAt publishedBy { displayName } isRetracted } }
  }
}
`,
    variables: (names) => ({ name: names.package }),
  },
  {
    title: 'Compare two versions',
    query: `query Compare($name: String!, $from: SemVer!, $to: SemVer!) {
  package(name: $name) {
    version(version: $to) {
      comparison(from: $from) {
        dependencies { name before { constraint } after { constraint } }
        files { totalCount changes { status path } diff(path: "pubspec.yaml") { hunks { lines { kind text } } } }
      }
    }
  }
}
`,
    variables: (names) => ({ name: names.package, from: names.from, to: names.to }),
  },
  {
    title: 'My packages and their users',
    query: `{
  viewer {
    packages(first: 20) {
      nodes { name likeCount downloads { last30Days } dependents(first: 5) { totalCount nodes { constraint package { name } } } }
    }
  }
}
`,
  },
  {
    title: 'Packages of a publisher',
    query: `query PublisherPackages($slug: String!) {
  publisher(slug: $slug) {
    displayName
    packages(first: 50) { totalCount nodes { name latest { version publishedAt } } }
  }
}
`,
    variables: (names) => ({ slug: names.publisher }),
  },
  {
    title: 'Retract a version',
    query: `# Changes the package. Run it with "isRetracted": false to restore the version.
mutation Retract($input: UpdateVersionOptionsInput!) {
  updateVersionOptions(input: $input) {
    version { version isRetracted restorableUntil }
  }
}
`,
    variables: (names) => ({ input: { package: names.package, version: names.from, isRetracted: true } }),
  },
  {
    title: 'Create an access token',
    query: `mutation CreateToken($input: CreateTokenInput!) {
  createToken(input: $input) {
    secret # shown only once
    token { name prefix scopes expiresAt }
  }
}
`,
    variables: () => ({ input: { name: 'CI', scopes: ['READ'], expiresInDays: 90 } }),
  },
  {
    title: 'Audit log (administrators)',
    query: `query AuditLog($from: DateTime) {
  auditEntries(first: 50, from: $from) {
    nodes { createdAt kind summary actorName clientIp package version }
    pageInfo { hasNextPage endCursor }
  }
}
`,
    variables: () => ({ from: '2026-01-01T00:00:00Z' }),
  },
  {
    title: 'Limits, and what a query costs',
    query: `{
  rateLimit { cost maxCost limit remaining resetAt }
}
`,
  },
]

/** Returns examples of searching, reading, comparison, pagination and mutations. */
export const examplesWith = (names: ExampleNames): Example[] =>
  examples.map(({ title, query, variables }) => ({
    title,
    query,
    ...(variables && { variables: JSON.stringify(variables(names), null, 2) }),
  }))
