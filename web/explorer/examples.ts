/** An example query with its variables as JSON. */
export interface Example {
  title: string
  query: string
  variables?: string
}

/** Examples of searching, reading, comparison, pagination and mutations. */
export const examples: Example[] = [
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
    variables: '{"query": "http", "sort": "DOWNLOADS"}',
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
    variables: '{"name": "acme"}',
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
    variables: '{"name": "acme", "from": "1.0.0", "to": "1.1.0"}',
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
    title: 'Retract a version',
    query: `mutation Retract($input: UpdateVersionOptionsInput!) {
  updateVersionOptions(input: $input) {
    version { version isRetracted restorableUntil }
  }
}
`,
    variables: '{"input": {"package": "acme", "version": "1.0.0", "isRetracted": true}}',
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
    variables: '{"input": {"name": "CI", "scopes": ["READ"], "expiresInDays": 90}}',
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
    variables: '{"from": "2026-01-01T00:00:00Z"}',
  },
  {
    title: 'Limits, and what a query costs',
    query: `{
  rateLimit { cost maxCost limit remaining resetAt }
}
`,
  },
]
