import { describe, expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { packageArchive } from '../support/archive.ts'
import { publish } from '../support/publish.ts'

const pubspec = `repository: https://github.com/acme/tools/tree/main/packages/acme
homepage: https://acme.example
issue_tracker: https://github.com/acme/tools/issues
topics: [tools, testing]
funding: [https://acme.example/give]
executables:
  acme:
platforms:
  linux:
dependencies:
  collection: ^1.18.0
  flutter:
    sdk: flutter
  inner:
    hosted: http://localhost:8080
    version: '>=1.0.0 <2.0.0'
dev_dependencies:
  test: any
  local:
    path: ../local`

const files = {
  'README.md': '# Acme\n\n[guide](doc/guide.md) <script>alert(1)</script>\n',
  LICENSE: 'MIT <b>License</b>',
  'example/main.dart': 'void main() => print(1 < 2);\n',
}

it('shows a package with all data of its pubspec', async () => {
  await using app = await testApp()
  const alice = await app.member({ displayName: 'Alice' })
  await publish(alice, { name: 'acme', version: '1.2.0', pubspec, files })
  const { body } = await alice.graphql(`{
    package(name: "acme") {
      name url description latestPrerelease { version }
      latest {
        version isPrerelease isRetracted retractedAt publishedBy { displayName } archiveUrl archiveSha256 archiveBytes pubspec
        description homepage repository issueTracker documentation topics funding platforms executables needsFlutter
        environment { sdk constraint } dependencies { name constraint kind source hostedUrl sdk }
        install { tokenCommand addCommand windows: addCommand(shell: POWERSHELL) prompt: addCommand(shell: CMD) pubspecYaml importStatement activateCommand }
        package { name }
      }
    }
  }`)
  const { latest, ...pkg } = body.data.package
  expect(pkg).toEqual({
    name: 'acme',
    url: 'http://localhost:8080/packages/acme',
    description: 'The package acme, made for a test of the registry.',
    latestPrerelease: null,
  })
  expect(JSON.parse(latest.pubspec)).toMatchObject({ name: 'acme', topics: ['tools', 'testing'] })
  expect(latest).toMatchObject({
    version: '1.2.0',
    isPrerelease: false,
    isRetracted: false,
    retractedAt: null,
    publishedBy: { displayName: 'Alice' },
    archiveUrl: 'http://localhost:8080/api/archives/acme-1.2.0.tar.gz',
    homepage: 'https://acme.example',
    repository: 'https://github.com/acme/tools/tree/main/packages/acme',
    issueTracker: 'https://github.com/acme/tools/issues',
    documentation: null,
    topics: ['tools', 'testing'],
    funding: ['https://acme.example/give'],
    platforms: ['linux'],
    executables: ['acme'],
    needsFlutter: true,
    environment: [{ sdk: 'sdk', constraint: '>=3.0.0 <4.0.0' }],
    package: { name: 'acme' },
    install: {
      tokenCommand: 'dart pub token add http://localhost:8080',
      addCommand: `flutter pub add 'acme:{"hosted":"http://localhost:8080","version":"^1.2.0"}'`,
      windows: 'flutter pub add "acme:{hosted: http://localhost:8080, version: ^1.2.0}"',
      prompt: 'flutter pub add "acme:{hosted: http://localhost:8080, version: ^1.2.0}"',
      pubspecYaml: 'dependencies:\n  acme:\n    hosted: http://localhost:8080\n    version: ^1.2.0\n',
      importStatement: "import 'package:acme/acme.dart';",
      activateCommand: 'dart pub global activate --hosted-url http://localhost:8080 acme 1.2.0',
    },
  })
  expect(latest.dependencies).toEqual([
    { name: 'collection', constraint: '^1.18.0', kind: 'DIRECT', source: 'HOSTED', hostedUrl: null, sdk: null },
    { name: 'flutter', constraint: 'any', kind: 'DIRECT', source: 'SDK', hostedUrl: null, sdk: 'flutter' },
    { name: 'inner', constraint: '>=1.0.0 <2.0.0', kind: 'DIRECT', source: 'HOSTED', hostedUrl: 'http://localhost:8080', sdk: null },
    { name: 'test', constraint: 'any', kind: 'DEV', source: 'HOSTED', hostedUrl: null, sdk: null },
    { name: 'local', constraint: 'any', kind: 'DEV', source: 'PATH', hostedUrl: null, sdk: null },
  ])
})

it('shows the texts of a version sanitized and with links to its files', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0', pubspec, files })
  const fields = 'path source html'
  const { body } = await alice.graphql(
    `{ package(name: "acme") { latest { readme { ${fields} } changelog { ${fields} } license { ${fields} } example { ${fields} } } } }`,
  )
  const { readme, changelog, license, example } = body.data.package.latest
  expect(readme).toMatchObject({ path: 'README.md', source: files['README.md'] })
  expect(readme.html).toContain('<h1 id="doc-acme">Acme</h1>')
  expect(readme.html).toContain('href="/packages/acme/versions/1.0.0/files/doc/guide.md"')
  expect(readme.html).not.toContain('alert')
  expect(changelog.html).toContain('<li>First.</li>')
  expect(license.html).toBe('<div class="code-block"><pre><code>MIT &lt;b&gt;License&lt;/b&gt;\n</code></pre></div>')
  expect(example).toMatchObject({
    path: 'example/main.dart',
    html: expect.stringContaining('<code class="language-dart"><span class="hl-k">void </span><span class="hl-f">main</span>()'),
  })
})

describe('versions', () => {
  it('are paged, the highest first', async () => {
    await using app = await testApp()
    const alice = await app.member()
    for (const version of ['1.0.0', '1.10.0', '1.9.0', '2.0.0-dev', '0.1.0']) await publish(alice, { name: 'acme', version })
    const page = async (after: string | null) =>
      (
        await alice.graphql(
          'query ($after: String) { package(name: "acme") { versions(first: 2, after: $after) { totalCount nodes { version } pageInfo { hasNextPage endCursor } } } }',
          { after },
        )
      ).body.data.package.versions
    const seen: string[] = []
    for (let cursor: string | null = null, more = true; more;) {
      const { totalCount, nodes, pageInfo } = await page(cursor)
      expect(totalCount).toBe(5)
      seen.push(...nodes.map(({ version }: { version: string }) => version))
      ;[cursor, more] = [pageInfo.endCursor, pageInfo.hasNextPage]
    }
    expect(seen).toEqual(['2.0.0-dev', '1.10.0', '1.9.0', '1.0.0', '0.1.0'])
  })

  it('are found by number: null if missing, an error if malformed', async () => {
    await using app = await testApp()
    const alice = await app.member()
    await publish(alice, { name: 'acme', version: '1.0.0' })
    const version = async (text: string) =>
      (
        await alice.graphql('query ($version: SemVer!) { package(name: "acme") { version(version: $version) { version } } }', {
          version: text,
        })
      ).body
    expect((await version('1.0.0')).data.package.version).toEqual({ version: '1.0.0' })
    expect((await version('1.0.1')).data.package.version).toBeNull()
    expect((await version('v1')).errors[0].extensions.code).toBe('InvalidInput')
    expect((await alice.graphql('{ package(name: "nothing") { name } }')).body.data).toEqual({ package: null })
  })
})

it('publishes over GraphQL as the pub client does', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const { body: announced } = await alice.graphql('mutation { createUpload { uploadId url fields { name value } expiresAt } }')
  const { uploadId, url, fields } = announced.data.createUpload
  expect({ url, fields }).toEqual({
    url: expect.stringMatching(
      new RegExp(`^http://localhost:8080/api/packages/versions/upload\\?upload_id=${uploadId}&upload_key=svc_upload_token_\\w+$`),
    ),
    fields: [{ name: 'upload_id', value: uploadId }],
  })
  const archive = await packageArchive({ name: 'acme', version: '1.0.0' })
  await alice.post(`/api/packages/versions/upload?upload_id=${uploadId}`, archive, {
    headers: { 'content-type': 'application/octet-stream' },
  })
  const finish = () =>
    alice.graphql('mutation ($id: ID!) { finalizeUpload(input: { uploadId: $id }) { message version { version package { name } } } }', {
      id: uploadId,
    })
  for (let times = 0; times < 2; times++) {
    expect((await finish()).body.data.finalizeUpload).toEqual({
      message: expect.stringContaining('acme 1.0.0'),
      version: { version: '1.0.0', package: { name: 'acme' } },
    })
  }
})

it('requires a sign-in to read packages in GraphQL', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0' })
  const id = (await alice.graphql('{ package(name: "acme") { id latest { id } } }')).body.data.package
  for (const query of [
    '{ package(name: "acme") { name } }',
    '{ packages(first: 1) { nodes { name } } }',
    '{ packageNames }',
    `{ node(id: "${id.id}") { id } }`,
    `{ node(id: "${id.latest.id}") { id } }`,
    'mutation { createUpload { uploadId } }',
  ]) {
    const { body } = await app.anonymous.graphql(query)
    expect(body.errors[0].extensions.code).toBe('MissingAuthentication')
  }
  expect((await alice.graphql(`{ node(id: "${id.latest.id}") { ... on PackageVersion { version } } }`)).body.data.node).toEqual({
    version: '1.0.0',
  })
})

it('renders formulas of the README as MathML', async () => {
  await using app = await testApp()
  const alice = await app.member()
  await publish(alice, { name: 'acme', version: '1.0.0', files: { 'README.md': 'The area is $\\pi r^2$, for $5.\n' } })
  const { body } = await alice.graphql('{ package(name: "acme") { latest { readme { html } } } }')
  expect(body.data.package.latest.readme.html).toBe(
    '<p>The area is <math><mrow><mi>π</mi><msup><mi>r</mi><mn>2</mn></msup></mrow></math>, for $5.</p>\n',
  )
})

describe('package endpoints in REST', () => {
  it('return uploaders, advisories and texts', async () => {
    await using app = await testApp()
    const alice = await app.member({ displayName: 'Alice' })
    await publish(alice, { name: 'acme', version: '1.0.0-dev+1', pubspec, files })
    expect((await alice.get('/api/packages/acme/uploaders')).body).toEqual({
      uploaders: [{ userId: alice.id, email: alice.email, displayName: 'Alice' }],
    })
    expect((await alice.get('/api/packages/acme/advisories')).body).toEqual({
      advisories: [],
      advisoriesUpdated: expect.stringMatching(/Z$/),
    })
    for (const version of ['1.0.0-dev+1', '1.0.0-dev%2B1']) {
      const { body } = await alice.get(`/api/packages/acme/versions/${version}/content`)
      expect(body).toMatchObject({
        readme: { path: 'README.md', source: files['README.md'] },
        changelog: {},
        license: { path: 'LICENSE' },
        example: { path: 'example/main.dart' },
      })
    }
  })

  it.each(['uploaders', 'advisories', 'versions/1.0.0/content'])('answer 400, 401 and 404 for %s', async (path) => {
    await using app = await testApp()
    const alice = await app.member()
    expect(await alice.get(`/api/packages/nothing/${path}`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
    expect(await alice.get(`/api/packages/No-Name/${path}`)).toMatchObject({ status: 400, body: { error: { code: 'InvalidInput' } } })
    expect(await app.anonymous.get(`/api/packages/nothing/${path}`)).toMatchObject({ status: 401 })
    await publish(alice, { name: 'acme', version: '2.0.0' })
    expect((await alice.get('/api/packages/acme/versions/1.0.0/content')).status).toBe(404)
    expect((await alice.get('/api/packages/acme/versions/1/content')).status).toBe(400)
  })
})
