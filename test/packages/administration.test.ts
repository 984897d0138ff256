import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { writeDownloads } from '../support/downloads.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const here = 'http://localhost:8080'

const query = (args: string) =>
  `{ managedPackages(first: 2, ${args}) { nodes { versionCount archiveBytes publisherId package { name uploaders { email } downloads { last30Days } } } totalCount pageInfo { hasNextPage endCursor } } }`

it('lists all packages with versions, size and owners for administrators', async () => {
  await using app = await testApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  const sizes = [
    (await publish(alice, { name: 'acme', version: '1.0.0' })).length,
    (await publish(alice, { name: 'acme', version: '2.0.0-dev' })).length,
  ]
  await publish(alice, { name: 'acme_ui', version: '0.1.0' })
  await publish(alice, { name: 'zebra', version: '0.1.0' })
  await alice.put('/api/packages/zebra/options', { isUnlisted: true })
  await alice.get('/api/archives/acme-1.0.0.tar.gz')
  await writeDownloads(app)
  const { status, body } = await admin.get('/api/admin/packages')
  expect(status).toBe(200)
  expect(body).toMatchObject({ page: 1, pageSize: 50, totalCount: 3, totalPages: 1 })
  expect(body.packages.map(({ name }: { name: string }) => name)).toEqual(['acme', 'acme_ui', 'zebra'])
  expect(body.packages[0]).toMatchObject({
    name: 'acme',
    latestVersion: '1.0.0',
    versionCount: 2,
    archiveBytes: sizes.reduce((sum, size) => sum + size, 0),
    downloads30d: 1,
    visibility: 'private',
    isUnlisted: false,
    isDiscontinued: false,
    owners: { publisherId: null, uploaders: [{ userId: alice.id, email: alice.email, displayName: alice.user.displayName }] },
  })
  const named = async (q: string) => (await admin.get(`/api/admin/packages?q=${q}`)).body.packages.map(({ name }: { name: string }) => name)
  expect(await named('ACME')).toEqual(['acme', 'acme_ui'])
  expect(await named('_')).toEqual(['acme_ui'])
  expect(await named('%25')).toEqual([])
  expect(await admin.get('/api/admin/packages?page=2')).toMatchObject({ status: 200, body: { packages: [], totalCount: 3 } })
  expect(await admin.get('/api/admin/packages?page=0')).toMatchObject({ status: 400 })
  expect(await alice.get('/api/admin/packages')).toMatchObject({ status: 403 })
})

it('lists public packages including unlisted ones, for a review of what is exposed', async () => {
  await using app = await publicApp()
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const name of ['acme', 'acme_hidden', 'inner']) await publish(alice, { name, version: '1.0.0' })
  await alice.put('/api/packages/acme_hidden/options', { isUnlisted: true })
  await makePublic(app, 'acme', 'acme_hidden')
  const list = async (args: string) => {
    const { nodes, totalCount } = (await admin.graphql(query(args))).body.data.managedPackages
    return [totalCount, ...nodes.map((node: { package: { name: string } }) => node.package.name)]
  }
  expect(await list('visibility: PUBLIC')).toEqual([2, 'acme', 'acme_hidden'])
  expect(await list('visibility: PUBLIC, offset: 1')).toEqual([2, 'acme_hidden'])
  expect(await list('visibility: PUBLIC, q: "hidden", orderBy: SIZE')).toEqual([1, 'acme_hidden'])
  expect(await list('visibility: PRIVATE')).toEqual([1, 'inner'])
  expect((await alice.graphql(query('visibility: PUBLIC'))).body.errors[0].extensions.code).toBe('InsufficientPermissions')
})

it('sorts by size, versions and date, page by page, with a constant number of statements', async () => {
  await using app = await testApp({ alone: true, now: new Date('2026-01-01T00:00:00Z') })
  const [alice, admin] = [await app.member(), await app.admin()]
  for (const [index, [name, versions, bytes]] of (
    [
      ['one', 3, 0],
      ['two', 1, 9000],
      ['three', 2, 3000],
      ['four', 1, 0],
      ['five', 1, 0],
    ] as const
  ).entries()) {
    app.clock.now = new Date(Date.UTC(2026, 0, 1 + index))
    for (let minor = 0; minor < versions; minor++) {
      const noise = Array.from({ length: bytes }, (_, at) => ((at * 7919 + minor * 31) % 94) + 33).map((code) => String.fromCharCode(code))
      await publish(alice, { name, version: `1.${minor}.0`, files: { 'lib/noise.txt': noise.sort(() => Math.random() - 0.5).join('') } })
    }
  }
  async function all(args: string) {
    const names: string[] = []
    for (let after = ''; ;) {
      const page = (await admin.graphql(query(`${args}${after}`))).body.data.managedPackages
      names.push(...page.nodes.map((node: { package: { name: string } }) => node.package.name))
      if (!page.pageInfo.hasNextPage) return names
      after = `, after: "${page.pageInfo.endCursor}"`
    }
  }
  expect(await all('orderBy: NAME')).toEqual(['five', 'four', 'one', 'three', 'two'])
  expect(await all('orderBy: VERSIONS')).toEqual(['one', 'three', 'five', 'four', 'two'])
  expect(await all('orderBy: UPDATED')).toEqual(['five', 'four', 'three', 'two', 'one'])
  expect((await all('orderBy: SIZE')).slice(0, 2)).toEqual(['two', 'three'])
  const few = await app.countQueries(() => admin.graphql(query('orderBy: SIZE')))
  const many = await app.countQueries(() => admin.graphql(query('orderBy: SIZE').replace('first: 2', 'first: 100')))
  expect(many).toBe(few)
  expect((await admin.graphql(query('after: "a2V5OnVuZm9yZ2VkOw"'))).body.errors[0].extensions.code).toBe('InvalidInput')
})

it('lists dependencies with the serving version, and dependents, page by page', async () => {
  await using app = await testApp()
  const alice = await app.member()
  for (const version of ['1.0.0', '1.2.0', '1.3.0-dev', '2.0.0']) await publish(alice, { name: 'icons', version })
  const pubspec = `dependencies:
  icons:
    hosted: ${here}/
    version: ^1.0.0
  missing:
    hosted: ${here}
    version: any
  flutter:
    sdk: flutter
  http: ^1.0.0
dev_dependencies:
  icons:
    hosted: ${here}
    version: '>=9.0.0'
`
  for (const name of ['shop', 'blog']) await publish(alice, { name, version: '1.0.0', pubspec })
  const version = 'version(version: "1.0.0") { dependencies { name kind isHostedHere servedBy package { name } } }'
  const { data } = (await alice.graphql(`{ package(name: "shop") { ${version} } }`)).body
  expect(data.package.version.dependencies).toEqual([
    { name: 'icons', kind: 'DIRECT', isHostedHere: true, servedBy: '1.2.0', package: { name: 'icons' } },
    { name: 'missing', kind: 'DIRECT', isHostedHere: true, servedBy: null, package: null },
    { name: 'flutter', kind: 'DIRECT', isHostedHere: false, servedBy: null, package: null },
    { name: 'http', kind: 'DIRECT', isHostedHere: false, servedBy: null, package: null },
    { name: 'icons', kind: 'DEV', isHostedHere: true, servedBy: null, package: { name: 'icons' } },
  ])
  const dependents = (args: string) =>
    `{ package(name: "icons") { dependents(first: 1${args}) { nodes { constraint kind version package { name } } totalCount pageInfo { endCursor hasNextPage } } } }`
  const first = (await alice.graphql(dependents(''))).body.data.package.dependents
  expect(first).toMatchObject({
    totalCount: 2,
    nodes: [{ constraint: '^1.0.0', kind: 'DIRECT', version: '1.0.0', package: { name: 'blog' } }],
  })
  const second = (await alice.graphql(dependents(`, after: "${first.pageInfo.endCursor}"`))).body.data.package.dependents
  expect(second).toMatchObject({ nodes: [{ package: { name: 'shop' } }], pageInfo: { hasNextPage: false } })

  const { status, body } = await alice.get('/api/packages/shop/versions/1.0.0/dependencies')
  expect(status).toBe(200)
  const registry = { source: 'hosted', sdk: null }
  expect(body.dependencies).toEqual([
    {
      name: 'icons',
      constraint: '^1.0.0',
      kind: 'direct',
      ...registry,
      hostedUrl: `${here}/`,
      isBare: false,
      isHostedHere: true,
      servedBy: '1.2.0',
    },
    { name: 'missing', constraint: 'any', kind: 'direct', ...registry, hostedUrl: here, isBare: false, isHostedHere: true, servedBy: null },
    {
      name: 'flutter',
      constraint: 'any',
      kind: 'direct',
      source: 'sdk',
      sdk: 'flutter',
      hostedUrl: null,
      isBare: false,
      isHostedHere: false,
      servedBy: null,
    },
    {
      name: 'http',
      constraint: '^1.0.0',
      kind: 'direct',
      ...registry,
      hostedUrl: null,
      isBare: false,
      isHostedHere: false,
      servedBy: null,
    },
    { name: 'icons', constraint: '>=9.0.0', kind: 'dev', ...registry, hostedUrl: here, isBare: false, isHostedHere: true, servedBy: null },
  ])
  const page = { page: 1, pageSize: 50, totalCount: 2, totalPages: 1 }
  const needs = { version: '1.0.0', constraint: '^1.0.0', kind: 'direct' }
  expect(await alice.get('/api/packages/icons/dependents')).toMatchObject({
    status: 200,
    body: {
      dependents: [
        { package: 'blog', ...needs },
        { package: 'shop', ...needs },
      ],
      ...page,
    },
  })
  expect((await alice.get('/api/packages/icons/dependents?page=2')).body).toEqual({ dependents: [], ...page, page: 2 })
  for (const [path, code] of [
    ['icons/dependents?page=0', 400],
    ['absent/dependents', 404],
    ['absent/versions/1.0.0/dependencies', 404],
    ['icons/versions/9.9.9/dependencies', 404],
  ] as const) {
    expect({ path, status: (await alice.get(`/api/packages/${path}`)).status }).toEqual({ path, status: code })
  }
})

it('hides dependents and private dependencies from anonymous users', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  for (const name of ['inner', 'open']) await publish(alice, { name, version: '1.0.0' })
  await publish(alice, dependent('open', '1.1.0', [], ['inner']))
  await makePublic(app, 'open')
  expect(await app.anonymous.get('/api/packages/open/versions/1.1.0/dependencies')).toMatchObject({
    status: 200,
    body: { dependencies: [] },
  })
  for (const path of ['open/dependents', 'inner/dependents', 'inner/versions/1.0.0/dependencies'])
    expect({ path, status: (await app.anonymous.get(`/api/packages/${path}`)).status }).toEqual({ path, status: 401 })
})
