import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { attributeStatements } from '../support/attributed-statements.ts'
import { dependent, makePublic, publicApp } from '../support/public-packages.ts'
import { publish } from '../support/publish.ts'

const changelogOf = 'query ($name: String!) { package(name: $name) { latest { changelog { html } } } }'

async function renderedChangelog(changelog: string) {
  const app = await testApp()
  const alice = await app.member()
  for (const version of ['1.0.0', '1.1.0-dev.1']) await publish(alice, { name: 'acme', version, files: { 'CHANGELOG.md': changelog } })
  const { body } = await alice.graphql(changelogOf, { name: 'acme' })
  return { app, html: body.data.package.latest.changelog.html as string }
}

it('adds to the versions of a changelog when they were published, and which were not', async () => {
  const source =
    '# Changelog\n\n## [1.1.0-dev.1] - 2026-01-31\n\n### Not 1.0.0\n\n## 1.0.0\n\n- First, after 0.9.0.\n\n## v0.9.0+2\n\n## Unreleased\n'
  const { app, html } = await renderedChangelog(source)
  await using _app = app
  const notes = Array.from(
    html.matchAll(/<h(\d) id="([^"]*)">(?:(?!<h\d).)*?<p class="release">(.*?)<\/p>/gs),
    ([, level, id, note = '']) => [level, id, note.replaceAll(/datetime="[\d-]+">\w{3} \d+, \d{4}</g, 'datetime="">day<')],
  )
  const published = (version: string) => `<a href="/packages/acme/versions/${version}">Published <time datetime="">day</time></a>`
  expect(notes).toEqual([
    ['2', 'doc-110-dev1---2026-01-31', published('1.1.0-dev.1')],
    ['2', 'doc-100', published('1.0.0')],
    ['2', 'doc-v0902', 'Not published here'],
  ])
})

it('leaves a changelog without version headings unchanged', async () => {
  const { app, html } = await renderedChangelog('# News\n\n1.0.0: first\n\n<h1>1.0</h1>')
  await using _app = app
  expect(html).not.toContain('release')
})

it('looks up the versions of all changelogs in one query', async () => {
  const { app } = await renderedChangelog('## 1.0.0')
  await using _app = app
  const alice = await app.member()
  const query = '{ package(name: "acme") { versions(first: 10) { nodes { changelog { html } } } } }'
  const { result, statements } = await attributeStatements(() => alice.graphql(query))
  expect(result.body.data.package.versions.nodes).toHaveLength(2)
  expect(statements.filter((sql) => sql.includes('"retracted_at" from "package_versions" where "package_id" in'))).toHaveLength(1)
})

it('reveals nothing about versions that are hidden from the public', async () => {
  await using app = await publicApp()
  const alice = await app.member()
  const files = { 'CHANGELOG.md': '## 2.0.0\n\n## 1.1.0\n\n## 1.0.0\n\n## 0.9.0\n' }
  await publish(alice, { name: 'vault', version: '1.0.0' })
  await publish(alice, { name: 'acme', version: '1.0.0', files })
  await publish(alice, { ...dependent('acme', '1.1.0', ['vault']), files })
  await publish(alice, { name: 'acme', version: '2.0.0', files })
  await makePublic(app, 'acme')
  const notesFor = async (actor: typeof alice) => {
    const html = (await actor.graphql(changelogOf, { name: 'acme' })).body.data.package.latest.changelog.html as string
    return [...html.matchAll(/<p class="release">(?:<a href="[^"]*\/)?(\d\.\d\.\d|Not)/g)].map(([, note]) => note)
  }
  expect(await notesFor(alice)).toEqual(['2.0.0', '1.1.0', '1.0.0', 'Not'])
  expect(await notesFor(app.anonymous)).toEqual(['2.0.0', '1.0.0'])
})
