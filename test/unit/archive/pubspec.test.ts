import { describe, expect, it } from 'vitest'
import { readYaml } from '../../../server/registry/archive/yaml.ts'
import { extended, fault, read, start } from '../../support/pubspec.ts'

const many = (count: number) => `${start}dependencies:\n${Array.from({ length: count }, (_, index) => `  d${index}: any\n`).join('')}`

describe('pubspec', () => {
  it('is parsed into the fields that the registry uses', () => {
    const yaml = `
name: foo_bar
version: 1.2.3-dev.1+4
description: >-
  Does
  foo.
homepage: https://example.com
repository: http://example.com/repo
issue_tracker: https://example.com/issues
documentation: https://example.com/docs
topics: [ui, state-management]
funding: [https://example.com/donate]
screenshots: [{path: doc/a.png, description: The first.}]
environment: {sdk: '>=3.0.0 <4.0.0', flutter: '>=3.10.0'}
dependencies:
  plain: ^1.0.0
  anything:
  flutter: {sdk: flutter}
  here: {hosted: https://PUB.example.com/registry, version: 1.0.0}
  there: {hosted: {name: there, url: 'https://pub.dartlang.org'}, version: any}
dev_dependencies:
  by_path: {path: ../x}
  by_git: {git: {url: https://example.com/x.git, ref: main}}
executables: {tool: , other: main}
platforms: {android: , web: }
flutter: {plugin: {platforms: {android: {package: x}, ios: {}}}}
`
    expect(read(yaml)).toEqual({
      name: 'foo_bar',
      version: '1.2.3-dev.1+4',
      description: 'Does foo.',
      homepage: 'https://example.com',
      repository: 'http://example.com/repo',
      issueTracker: 'https://example.com/issues',
      documentation: 'https://example.com/docs',
      topics: ['ui', 'state-management'],
      screenshots: [{ path: 'doc/a.png', description: 'The first.' }],
      funding: ['https://example.com/donate'],
      environment: [
        { sdk: 'sdk', constraint: '>=3.0.0 <4.0.0' },
        { sdk: 'flutter', constraint: '>=3.10.0' },
      ],
      dependencies: [
        { name: 'plain', constraint: '^1.0.0', kind: 'direct', source: 'hosted', hostedUrl: null, sdk: null },
        { name: 'anything', constraint: 'any', kind: 'direct', source: 'hosted', hostedUrl: null, sdk: null },
        { name: 'flutter', constraint: 'any', kind: 'direct', source: 'sdk', hostedUrl: null, sdk: 'flutter' },
        { name: 'here', constraint: '1.0.0', kind: 'direct', source: 'hosted', hostedUrl: 'https://PUB.example.com/registry', sdk: null },
        { name: 'there', constraint: 'any', kind: 'direct', source: 'hosted', hostedUrl: 'https://pub.dartlang.org', sdk: null },
        { name: 'by_path', constraint: 'any', kind: 'dev', source: 'path', hostedUrl: null, sdk: null },
        { name: 'by_git', constraint: 'any', kind: 'dev', source: 'git', hostedUrl: null, sdk: null },
      ],
      executables: ['tool', 'other'],
      platforms: ['android', 'web'],
      pluginPlatforms: ['android', 'ios'],
      implementedPlugin: null,
      needsFlutter: true,
      document: readYaml(yaml, 'pubspec.yaml'),
    })
  })

  it('requires only a name, a version and an SDK constraint', () => {
    expect(read(start)).toMatchObject({
      description: null,
      topics: [],
      platforms: [],
      dependencies: [],
      needsFlutter: false,
      pluginPlatforms: null,
    })
    expect(read(start).document).toEqual({ name: 'foo', version: '1.0.0', environment: { sdk: '^3.0.0' } })
    expect(extended('description:\nhomepage:\ndependencies:\ntopics:\npublish_to:\ncustom: {any: [1, true, null]}\n')).toMatchObject({
      homepage: null,
      dependencies: [],
    })
  })

  it.each([
    ['environment: {sdk: ^3.0.0, flutter: ^3.0.0}', true, null],
    ['dependencies: {flutter: {sdk: flutter}}', true, null],
    ['dependencies: {flutter_localizations: {sdk: flutter}}', true, null],
    ['dependencies: {flutter: ^1.0.0}', false, null],
    ['dev_dependencies: {flutter_test: {sdk: flutter}}', false, null],
    ['flutter: {plugin: {platforms: {web: {}}}}', false, ['web']],
    ['flutter: {plugin: {androidPackage: x}}', false, ['android', 'ios']],
    ['flutter: {assets: [a.png]}', false, null],
    ['flutter: 5', false, null],
  ])('shows whether a package needs Flutter and is a plugin: %s', (yaml, needsFlutter, pluginPlatforms) => {
    const own = yaml.startsWith('environment') ? start.slice(0, start.indexOf('environment')) : start
    expect(read(own + yaml)).toMatchObject({ needsFlutter, pluginPlatforms })
  })

  it.each(['a', 'a1', 'snake_case_2', 'async', 'get', 'dynamic', 'a'.repeat(64)])('may have the name %s', (name) => {
    expect(fault(start.replace('foo', name))).toBe('accepted')
  })

  it.each([
    'A',
    'camelCase',
    '1a',
    '_a',
    'a-b',
    'a.b',
    '"a b"',
    'ä',
    'a'.repeat(65),
    '""',
    'class',
    'if',
    'await',
    'void',
    'type',
    '12',
    '[a]',
  ])('may not have the name %s', (name) => {
    expect(fault(start.replace('foo', name))).toMatch(/^pubspec\.yaml: name must /)
  })

  it.each([
    ['1.0', 'three numbers'],
    ['v1.0.0', 'three numbers'],
    ['1.0.0-01', 'leading zeros'],
    [`1.0.0-${'a'.repeat(59)}`, 'at most 64 characters'],
    ['99999999999999999999.0.0', 'which pub can read'],
    ['', 'is missing'],
  ])('may not have the version "%s"', (version, message) => {
    expect(fault(start.replace('1.0.0', version))).toContain(message)
  })

  it.each([
    ['any', 'lower and an upper bound'],
    ["'>=3.0.0'", 'lower and an upper bound'],
    ["'<4.0.0'", 'lower and an upper bound'],
    ["'>=4.0.0 <3.0.0'", 'allows no version'],
    ['3.x', 'must be a version constraint'],
    ['', 'environment.sdk is missing'],
    ['^3.0.0\n  dart: ^3.0.0', 'environment.dart'],
    ['^3.0.0\n  flutter: 3', 'environment.flutter must be text'],
  ])('may not have the SDK constraint "%s"', (constraint, message) => {
    expect(fault(start.replace('^3.0.0', constraint))).toContain(message)
  })
})

describe('fields of a pubspec', () => {
  it.each([
    ['publish_to: none', 'publish_to is none'],
    ['publish_to: https://pub.dev', 'publish_to is "https://pub.dev", not this server'],
    ['publish_to: https://pub.example.com', 'Set it to https://pub.example.com/registry/'],
    ['homepage: example.com', 'homepage must be an http or https URL'],
    ['repository: ftp://example.com', 'repository must'],
    ['issue_tracker: "javascript:alert(1)"', 'issue_tracker must'],
    ['documentation: "http://"', 'documentation must'],
    ['homepage: "https://a b"', 'homepage must'],
    ['homepage: [x]', 'homepage must be text'],
    ['description: 5', 'description must be text'],
    ['topics: [a]', 'topics.0 must be 2 to 32'],
    ['topics: [ok, Not]', 'topics.1 must be'],
    [`topics: [${'a'.repeat(33)}]`, 'topics.0 must be'],
    ['topics: [aa, bb, cc, dd, ee, ff]', 'at most 5'],
    ['screenshots: [a.png]', 'screenshots.0 must be a mapping'],
    ['screenshots: [{path: a.png}]', 'screenshots.0.description is missing'],
    [`screenshots: [${'{path: a, description: b},'.repeat(11)}]`, 'at most 10'],
    ['funding: [http://example.com]', 'funding.0 must be an https URL'],
    ['funding: https://example.com', 'funding must be a list'],
    ['executables: {"a b": }', 'executables.a b must be letters'],
    ['executables: {a: ../b}', 'without a path'],
    ['platforms: [web]', 'platforms must be a mapping'],
    ['false_secrets: x', 'false_secrets must be a list'],
  ])('rejects %s', (yaml, message) => {
    expect(fault(start + yaml)).toContain(message)
  })

  it.each(['publish_to: https://pub.example.com/registry', 'publish_to: https://PUB.example.com:443/registry/'])('accepts %s', (yaml) => {
    expect(fault(start + yaml)).toBe('accepted')
  })

  it.each([
    ['{git: https://example.com/x.git}', 'comes from git'],
    ['{path: ../x}', 'comes from path'],
    ['{hosted: https://evil.example.com}', 'which this server does not allow'],
    ['{hosted: https://pub.dev.evil.com}', 'which this server does not allow'],
    ['{hosted: https://mirror.example.net.evil.com}', 'which this server does not allow'],
    ['{hosted: https://ok.example.org/public}', 'which this server does not allow'],
    ['{hosted: https://ok.example.org/pub/../x}', 'which this server does not allow'],
    ['{hosted: http://pub.dev}', 'which this server does not allow'],
    ['{hosted: https://pub.dev?x}', 'hosted URL'],
    ['{hosted: x}', 'hosted URL'],
    ['{hosted: {name: b, url: https://pub.dev}}', 'must have the hosted name "a"'],
    ['{hosted: {url: https://pub.dev, key: 1}}', 'unknown hosted field "key"'],
    ['{hosted: {url: {}}}', 'hosted as a URL'],
    ['{hosted: [x]}', 'hosted as a URL'],
    ['{sdk: rust}', 'sdk: flutter or sdk: dart'],
    ['{svn: x}', 'unknown source "svn"'],
    ['{git: x, path: y}', 'more than one source'],
    ['1.0', 'version constraint'],
    ['""', 'version constraint'],
    ['~1.0.0', 'version constraint'],
    ['{version: [1]}', 'version constraint'],
    ['[x]', 'version constraint or a mapping'],
  ])('rejects the dependency %s', (spec, message) => {
    expect(fault(`${start}dependencies: {a: ${spec}}`)).toMatch(/^pubspec\.yaml: dependencies\.a /)
    expect(fault(`${start}dependencies: {a: ${spec}}`)).toContain(message)
  })

  it('accepts dependencies from an allowed registry and paths below it', () => {
    const urls = ['https://pub.dev/', 'https://ok.example.org/pub', 'https://ok.example.org/pub/team/', 'https://mirror.example.net/x']
    const { dependencies } = extended(`dependencies:\n${urls.map((url, index) => `  d${index}: {hosted: ${url}}\n`).join('')}`)
    expect(dependencies.map(({ hostedUrl }) => hostedUrl)).toEqual(urls)
  })

  it('allows at most 100 dependencies, with valid names, and not on the package itself', () => {
    expect(fault(many(100))).toBe('accepted')
    expect(fault(many(101))).toContain('dependencies must have at most 100 entries')
    expect(fault(`${start}dependencies: {foo: any}`)).toContain('is the package itself')
    expect(fault(`${start}dependencies: {a-b: any}`)).toContain('is not a package name')
    expect(fault(`${start}dependency_overrides: {a: {svn: x}}`)).toContain('dependency_overrides.a has the unknown source')
  })

  it.each(['dependencies', 'dev_dependencies', 'dependency_overrides'])(
    'applies the rules for package names to %s on this server',
    (field) => {
      const own = 'https://pub.example.com/registry'
      for (const [name, rule] of [
        ['Upper', 'lowercase letters'],
        ['_private', 'starting with a letter'],
        ['class', 'a reserved word of Dart'],
      ]) {
        for (const hosted of [own, `{url: ${own}/}`, `{name: ${name}, url: ${own}}`]) {
          const message = fault(`${start}${field}: {${name}: {hosted: ${hosted}, version: any}}`)
          expect(message).toContain(`${field}.${name} is hosted on this server, where a package name must`)
          expect(message).toContain(rule)
        }
        expect(fault(`${start}${field}: {${name}: {hosted: https://pub.dev}}`)).toBe('accepted')
        expect(fault(`${start}${field}: {${name}: any}`)).toBe('accepted')
      }
      expect(fault(`${start}${field}: {fine_name: {hosted: ${own}}}`)).toBe('accepted')
    },
  )
})

describe('URLs of a pubspec', () => {
  it.each([
    ['homepage: https://ann:secret@example.com/', 'homepage'],
    ['repository: https://secret@example.com/repo', 'repository'],
    ['issue_tracker: HTTP://ann:secret@example.com/', 'issue_tracker'],
    ['documentation: "https://ann%3Asecret@example.com/"', 'documentation'],
    ['funding: [https://example.com, "https://ann:secret@example.com/"]', 'funding.1'],
    ['publish_to: https://ann:secret@pub.example.com/registry', 'publish_to'],
    ['dependencies: {a: {hosted: "https://ann:secret@pub.dev"}}', 'dependencies.a.hosted'],
    ['dependencies: {a: {hosted: {name: a, url: "https://ann:secret@pub.dev"}}}', 'dependencies.a.hosted.url'],
    ['dependencies: {a: {git: "https://ann:secret@example.com/a.git"}}', 'dependencies.a.git'],
    ['dev_dependencies: {a: {git: "https://secret@example.com/a.git"}}', 'dev_dependencies.a.git'],
    ['dev_dependencies: {a: {git: {url: "ssh://git:secret@example.com/a.git", ref: main}}}', 'dev_dependencies.a.git.url'],
    ['dependency_overrides: {a: {hosted: " https://:secret@example.com"}}', 'dependency_overrides.a.hosted'],
    ['own_field: [{deep: "https:ann:secret@example.com"}]', 'own_field.0.deep'],
    ['own_field: {"https://ann:secret@example.com": 1}', 'own_field'],
    ['own_field: "https:\\\\\\\\ann:secret@example.com"', 'own_field'],
  ])('rejects credentials without repeating them: %s', (yaml, field) => {
    const message = fault(start + yaml)
    expect(message).toBe(
      `pubspec.yaml: ${field} has a URL with a user name or password, which every reader could see. Remove the part before the @.`,
    )
  })

  it.each([
    'homepage: https://example.com/@ann',
    'homepage: "https://example.com/?mail=ann@example.com"',
    'dev_dependencies: {a: {git: "git@example.com:ann/a.git"}}',
    'dev_dependencies: {a: {git: {url: "ssh://git@example.com/a.git"}}}',
    'description: Opens https://ann:password@example.com for you.',
    'own_field: "mailto:ann@example.com"',
  ])('accepts URLs without credentials: %s', (yaml) => {
    expect(fault(start + yaml)).toBe('accepted')
  })
})
