import { describe, expect, it } from 'vitest'
import { checksOf, percentOf, totalChecks } from '../../../server/analysis/report/report.ts'
import { criterionFor, reportFor, soundPubspec } from '../../support/analysis.ts'

const noPoints = (...said: string[]) => ({
  granted: 0,
  reason: expect.stringContaining(said[0] ?? ''),
  remedy: expect.stringMatching(/\w{3}/),
})
const allPoints = (maximum: number) => ({ granted: maximum, maximum, remedy: null })

it('passes a flawless package, and gives the same report every time', async () => {
  const report = await reportFor()
  expect(percentOf(report)).toBe(100)
  expect(report.sections.map(({ id, granted, maximum, status }) => [id, granted, maximum, status])).toEqual([
    ['convention', 30, 30, 'passed'],
    ['documentation', 50, 50, 'passed'],
    ['analysis', 0, 0, 'not_measured'],
    ['dependency', 20, 20, 'passed'],
  ])
  expect(report.notMeasured.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['static-analysis', 'formatting', 'downgrade', 'url-reachability']),
  )
  expect(await reportFor()).toEqual(report)
})

it('has the same checks for every package: those of a large package differ from those of a small one in the result only', async () => {
  const tooLarge = { 'lib/sound.dart': '// long\n'.repeat(1_100_000) }
  const reports = [
    await reportFor(),
    await reportFor({}, { isPrivate: true }),
    await reportFor({ manifest: 'name: sound\nversion: 1.2.0\ndependencies: {tide: any}\n', files: tooLarge }),
  ]
  const [ids, ...others] = reports.map((report) => checksOf(report).map(({ id }) => id))
  expect(ids).toHaveLength(totalChecks)
  for (const other of others) expect(other).toEqual(ids)
})

it('fails a package of one function with a README of two words clearly', async () => {
  const files = { 'README.md': 'Reads things.', 'example/main.dart': '' }
  const report = await reportFor({ files })
  expect(percentOf(report)).toBe(60)
  const missing = checksOf(report).filter(({ granted }) => granted === 0)
  expect(missing.map(({ id }) => id)).toEqual(['readme', 'readme-code', 'readme-usage', 'example'])
})

describe('pubspec', () => {
  it.each([
    ['description: Too short.', 'has only 10 characters'],
    [`description: ${'long '.repeat(40)}`, 'cut it off'],
    ['homepage: http://example.com', 'is insecure'],
    ['homepage: https://wiki.internal', 'has a host that is not public'],
    ['issue_tracker: https://127.0.0.1/issues', 'has a host that is not public'],
    ['funding: [http://example.com]', 'is insecure'],
    ['executables: {tide: tides}', 'bin/tides.dart'],
    ['flutter: {plugin: {androidPackage: a, pluginClass: B}}', '`androidPackage`, `pluginClass`'],
    ['dependencies: {strange: {sdk: fuchsia}}', '`fuchsia`'],
  ])('gets no points with %s', async (line, fault) => {
    const field = line.split(':')[0]
    const manifest = `${soundPubspec().replace(new RegExp(`^${field}: .*\n`, 'm'), '')}${line}\n`
    expect(await criterionFor('pubspec', { manifest })).toMatchObject(noPoints(fault))
  })

  it('lists all problems at once', async () => {
    const manifest = soundPubspec('executables: {tide: }').replace(/^(description|repository): .*\n/gm, '')
    const { reason = '', remedy } = (await criterionFor('pubspec', { manifest })) ?? {}
    expect(reason.split('\n')).toEqual([
      '- There is no `description`.',
      '- `executables` names `bin/tide.dart`, which the archive does not have.',
      '- There is neither a `repository` nor a `homepage`.',
    ])
    expect(remedy?.split('\n')).toHaveLength(3)
  })

  it('may have a homepage instead of a repository', async () => {
    const manifest = soundPubspec().replace('repository:', 'homepage:')
    expect(await criterionFor('pubspec', { manifest })).toMatchObject(allPoints(10))
  })
})

describe('documents', () => {
  it.each([
    ['readme', 'README.md', '', 'is empty'],
    ['readme', 'README.md', '![](http://example.com/a.png)', '1 insecure link: `http://example.com/a.png`'],
    ['readme', 'README.md', '<p><a href="http://a.com">a</a> <img width=1 src="http://b.com/c.png"></p>', '2 insecure links'],
    ['readme', 'README.md', '[a](https://[::x)', '1 malformed URL'],
    ['readme', 'README.md', Buffer.from([0x41, 0xff, 0xfe]), 'not UTF-8'],
    ['changelog', 'CHANGELOG.md', '## 1.1.0\n', 'does not describe the version `1.2.0`'],
    ['changelog', 'CHANGELOG.md', '## 1.2.0\n\n## 1.1.0\n\n- Springs.\n', 'does not describe the version `1.2.0`'],
    ['license', 'LICENSE', 'All rights reserved.', 'does not match any known license'],
    [
      'license',
      'LICENSE',
      'CC0 1.0 Universal … the person associating CC0 with a Work (the "Affirmer")',
      'Not approved by the OSI: `CC0-1.0`',
    ],
    ['readme', 'README.md', `# sound\n\n${'word '.repeat(78)}`, 'has only 79 words'],
    ['readme', 'README.md', '```\nprint(1);\n```', 'has only 0 words'],
    ['readme-code', 'README.md', 'word `code`\n\n```\n\n```', 'no code block'],
    ['readme-usage', 'README.md', '# sound\n\n## Motivation\n\nUsage is simple.\n\n    print(1);\n', 'no section on installation or usage'],
  ])('gives no points for the %s if %s is %j', async (id, path, content, fault) => {
    expect(await criterionFor(id, { files: { [path]: content } })).toMatchObject(noPoints(fault))
  })

  it('does not count code, relative links and comments as insecure links', async () => {
    const text =
      '`http://a.com` <!-- http://b.com --> [c](doc/c.md) [d](mailto:d@example.com) [e](#e)\n\n```\n<img src="http://f.com">\n```\n'
    expect(await criterionFor('readme', { files: { 'README.md': text } })).toMatchObject({ reason: expect.not.stringContaining('link') })
  })

  it('accepts a changelog of the release for a pre-release', async () => {
    expect(await criterionFor('changelog', {}, { version: '1.2.0-dev.3' })).toMatchObject(allPoints(10))
  })

  it.each([
    ['a heading', '## Getting started'],
    ['a heading in HTML', '<h2 align="center">Installation</h2>'],
    ['a heading in Chinese', '## 使用方法'],
    ['code that imports the package', "```dart\nimport 'package:sound/sound.dart';\n```"],
    ['a command that adds the package', '```\nflutter pub add sound\n```'],
    ['a dependency on the package', '```yaml\ndependencies:\n  sound: ^1.0.0\n```'],
  ])('finds a description of usage in %s', async (_, text) => {
    expect(await criterionFor('readme-usage', { files: { 'README.md': `# sound\n\n${text}\n` } })).toMatchObject(allPoints(10))
  })

  it('counts words of languages without spaces, and code blocks in HTML', async () => {
    const files = { 'README.md': `${'港の潮の満ち引きを表示します。'.repeat(20)}\n\n<pre>print(1);</pre>\n` }
    expect(await criterionFor('readme', { files })).toMatchObject(allPoints(10))
    expect(await criterionFor('readme-code', { files })).toMatchObject(allPoints(10))
  })

  it('tags each of several licenses, and requires that all are OSI-approved', async () => {
    const mit =
      'Permission is hereby granted, free of charge, to any person\nThe above copyright notice and this permission notice shall be included'
    const apache = 'Apache License Version 2.0 http://www.apache.org/licenses/'
    const approved = { files: { LICENSE: `${mit}\n${apache}` } }
    expect(await criterionFor('license', approved)).toMatchObject({ granted: 10, reason: 'It is licensed under `MIT` and `Apache-2.0`.' })
    const tags = async (options: typeof approved) => (await reportFor(options)).tags.filter((tag) => tag.startsWith('license:'))
    expect(await tags(approved)).toEqual(['license:mit', 'license:apache-2.0', 'license:osi-approved', 'license:fsf-libre'])
    const other = { files: { LICENSE: `${mit}\nCC0 1.0 Universal … the "Affirmer"` } }
    expect(await criterionFor('license', other)).toMatchObject({ granted: 0, reason: 'Not approved by the OSI: `CC0-1.0`.' })
    expect(await tags(other)).toEqual(['license:mit', 'license:cc0-1.0', 'license:fsf-libre'])
  })
})

it('passes private packages in what does not apply to them', async () => {
  const manifest = soundPubspec('publish_to: https://registry.example.com').replace(
    /^repository: .*\n/m,
    'repository: http://git.internal/sound\n',
  )
  const files = { LICENSE: 'Property of Harbor Ltd.', 'README.md': '[Wiki](http://wiki.internal)' }
  const { sections, notMeasured } = await reportFor({ manifest, files }, { isPrivate: true })
  expect(sections[0]).toMatchObject({ granted: 30, maximum: 30, status: 'passed' })
  expect(notMeasured.map(({ id }) => id)).toContain('urls')
  const withoutSource = { manifest: manifest.replace(/^repository: .*\n/m, '') }
  expect(await criterionFor('pubspec', withoutSource, { isPrivate: true })).toMatchObject(
    noPoints('neither a `repository` nor a `homepage`'),
  )
})

describe('documentation', () => {
  it('requires an example', async () => {
    expect(await criterionFor('example')).toMatchObject(allPoints(10))
    expect(await criterionFor('example', { files: { 'example/main.dart': 'void main() {}\n' } })).toMatchObject(noPoints('has only 1 line'))
    const others = { 'example/main.dart': Buffer.alloc(0), 'example/sound.dart': '' }
    expect(await criterionFor('example', { files: others })).toMatchObject({ reason: expect.stringContaining('example/') })
  })

  it('requires doc comments on half of the API', async () => {
    const functions = (count: number) => Array.from({ length: count }, (_, index) => `int f${index}() => 1;`).join('\n')
    const library = (undocumented: number) => ({ files: { 'lib/sound.dart': `/// A.\nlibrary;\n${functions(undocumented)}` } })
    expect(await criterionFor('api-documentation', library(1))).toMatchObject(allPoints(10))
    expect(await criterionFor('api-documentation', library(2))).toMatchObject(
      noPoints('1 of 3 elements of the public API have doc comments (33.3%)'),
    )
  })

  it('gives no points without doc comments, or if nothing can be read', async () => {
    expect(await criterionFor('api-documentation', { files: { 'lib/sound.dart': '' } })).toMatchObject({ granted: 0 })
    const tooLarge = { 'lib/sound.dart': '// long\n'.repeat(1_100_000) }
    expect(await criterionFor('api-documentation', { files: tooLarge })).toMatchObject(noPoints('could be read'))
  })
})

describe('Dart SDK constraint', () => {
  const withSdk = (constraint: string) => ({ manifest: soundPubspec().replace('^3.0.0', `'${constraint}'`) })

  it.each([
    ['>=2.12.0 <3.0.0', null, 10],
    ['>=2.12.0-0 <3.0.0', null, 10],
    ['>=2.10.0 <4.0.0', null, 0],
    ['>=3.0.0 <3.4.0', null, 0],
    ['^3.99.0', null, 10],
    ['^3.99.0', '3.11.4', 10],
    ['>=3.0.0 <3.9.0', '3.8.0', 0],
    ['>=3.0.0 <=3.11.4', '3.11.4', 10],
    ['>=3.0.0 <3.11.5', '3.11.4', 10],
    ['>=3.0.0 <3.11.4', '3.11.4', 0],
  ])('scores %s with latest SDK %s: %d points', async (constraint, dart, granted) => {
    expect(await criterionFor('sdk', withSdk(constraint), { dart })).toMatchObject({ granted })
  })
})

it('tags a package by its license, topics and features', async () => {
  const manifest = soundPubspec('topics: [sea]\nexecutables: {tide: }\nscreenshots: [{path: a.png, description: A}]\n')
  const { tags } = await reportFor({ manifest, files: { 'bin/tide.dart': '', 'a.png': '' } })
  expect(tags).toEqual(
    expect.arrayContaining([
      'license:mit',
      'license:osi-approved',
      'license:fsf-libre',
      'topic:sea',
      'is:null-safe',
      'is:dart3-compatible',
      'has:executable',
      'has:screenshot',
    ]),
  )
})

it('sums file sizes by kind, and notes unnecessary files', async () => {
  const { sizes, notes } = await reportFor({
    files: {
      'assets/a.png': Buffer.alloc(5000),
      'assets/b.ttf': Buffer.alloc(3000),
      'build/out.js': Buffer.alloc(2000),
      'test/a_test.dart': 'x',
    },
  })
  expect(sizes.slice(0, 3)).toEqual([
    { kind: 'image', files: 1, bytes: 5000 },
    { kind: 'font', files: 1, bytes: 3000 },
    { kind: 'web', files: 1, bytes: 2000 },
  ])
  expect(sizes).toContainEqual({ kind: 'test', files: 1, bytes: 1 })
  expect(notes).toEqual([expect.stringContaining('`build/` (2 KB)')])
})
