import { describe, expect, it } from 'vitest'
import { documentationLinks, insertAddresses, linkResolver, repositoryOf } from '../../../server/registry/markdown/links.ts'
import { renderMarkdown } from '../../../server/registry/markdown/render.ts'

const serverUrl = 'https://pub.example/base'
const images = { mode: 'off', serverUrl } as const
const version = { basePath: '/base', name: 'acme', version: '1.0.0+2' }
const page = '/base/packages/acme/versions/1.0.0%2B2'
const sha = '0123456789abcdef0123456789abcdef01234567'

const linkOf = (target: string, repository: string | null) => {
  const resolve = linkResolver({ kind: 'package', serverUrl, path: 'doc/guide.md', repository, images })
  const html = insertAddresses(renderMarkdown(`[a](<${target}>)`, resolve), version)
  return { href: /href="([^"]*)"/.exec(html)?.[1], page: /data-page="([^"]*)"/.exec(html)?.[1] }
}

describe('absolute links into the repository of a package', () => {
  const github = 'https://github.com/acme/tools'
  const folder = `${github}/tree/main/packages/acme`
  const gitlab = 'https://git.acme.dev/team/sub/app'
  const forgejo = 'https://codeberg.org/acme/tools'
  const gitea = 'https://git.acme.dev/acme/tools'
  it.each([
    [github, `${github}/blob/main/example/main.dart#L3`, '/files/example/main.dart#L3'],
    [github, `${github}/blob/v1.2.0/lib/a.dart?plain=1#L3-L9`, '/files/lib/a.dart#L3-L9'],
    [`${github}.git`, `${github}/tree/main/lib/`, '/files/lib'],
    [`${github}/`, 'http://github.com/Acme/Tools/blob/HEAD/doc/my%20guide.md', '/files/doc/my%20guide.md'],
    [github, `${github}/blob/main/CHANGELOG.md#100`, '/changelog#doc-100'],
    [github, `${github}/blob/main/LICENSE`, '/license'],
    [folder, `${github}/blob/main/packages/acme/lib/a.dart`, '/files/lib/a.dart'],
    [folder, `${github}/blob/v2/packages/acme/lib/a.dart`, '/files/lib/a.dart'],
    [gitlab, `${gitlab}/-/blob/main/lib/src/a.dart`, '/files/lib/src/a.dart'],
    [`${gitlab}/-/tree/main/pkgs/acme`, `${gitlab}/-/blob/stable/pkgs/acme/lib/a.dart?ref_type=heads#L3`, '/files/lib/a.dart#L3'],
    ['https://gitlab.com/acme/tools', 'https://gitlab.com/acme/tools/-/blob/main/lib/a.dart', '/files/lib/a.dart'],
    ['https://acme.dev:8443/git/acme/tools', 'https://acme.dev:8443/git/acme/tools/-/blob/main/a.dart', '/files/a.dart'],
    [forgejo, `${forgejo}/src/branch/main/lib/a.dart#L3-L5`, '/files/lib/a.dart#L3-L5'],
    [gitea, `${gitea}/src/tag/v1.0.0/lib/a.dart`, '/files/lib/a.dart'],
    [gitea, `${gitea}/src/HEAD/lib/a.dart`, '/files/lib/a.dart'],
    [`${gitea}/src/branch/main/pkgs/acme`, `${gitea}/src/branch/next/pkgs/acme/lib/a.dart`, '/files/lib/a.dart'],
  ])('of %s name the page of the file: %s', (repository, target, expected) => {
    expect(linkOf(target, repository)).toEqual({ href: expect.stringMatching(/^https?:\/\//), page: page + expected })
  })

  it.each([
    [null, `${github}/blob/main/lib/a.dart`],
    [github, github],
    [github, `${github}/tree/main`],
    [github, `${github}/issues/5`],
    [github, `${github}/raw/main/lib/a.dart`],
    [github, `${github}/blob/${sha}/lib/a.dart#L3`],
    [gitlab, `${gitlab}/-/blob/${sha}/lib/a.dart`],
    [gitea, `${gitea}/src/commit/${sha}/lib/a.dart`],
    [github, 'https://github.com/acme/other/blob/main/lib/a.dart'],
    [github, 'https://github.com/acme/tools_extra/blob/main/lib/a.dart'],
    [github, 'https://github.com.evil.example/acme/tools/blob/main/lib/a.dart'],
    [github, 'https://me@github.com/acme/tools/blob/main/lib/a.dart'],
    [folder, `${github}/blob/main/packages/other/lib/a.dart`],
    [folder, `${github}/blob/main/packages/acme`],
    [folder, `${github}/blob/main/packages/acme/../other/a.dart`],
    ['https://acme.dev/', 'https://acme.dev/blob/main/a.dart'],
    ['ftp://acme.dev/a/b', 'ftp://acme.dev/a/b/blob/main/a.dart'],
    [github, 'javascript:alert(1)'],
  ])('of %s stay what they are if they name no file of the package: %s', (repository, target) => {
    expect(linkOf(target, repository).page).toBe(undefined)
  })

  it('are not added to relative links, by documents themselves, in API documentation, and for packages of the upstream server', () => {
    expect(linkOf('../lib/a.dart', github)).toEqual({ href: `${page}/files/lib/a.dart`, page: undefined })
    const resolve = linkResolver({ kind: 'package', serverUrl, path: 'README.md', repository: github, images })
    expect(renderMarkdown('<a href="https://example.com" data-page="/packages/evil">a</a>', resolve)).not.toContain('data-page')
    const target = `[a](${github}/blob/main/lib/a.dart)`
    expect(renderMarkdown(target, documentationLinks(github, 'lib/a.dart'))).not.toContain('data-page')
    const upstream = linkResolver({ kind: 'repository', path: 'README.md', repository: github, images })
    expect(renderMarkdown(target, upstream)).not.toContain('data-page')
  })
})

it.each([
  [['https://git.acme.dev/a/b', 'https://acme.dev', 'https://github.com/a/c/issues'], 'https://git.acme.dev/a/b'],
  [[null, 'https://github.com/a/b', 'https://github.com/a/c/issues'], 'https://github.com/a/b'],
  [[null, 'https://acme.dev', 'https://github.com/a/b/issues'], 'https://github.com/a/b'],
  [[null, 'https://acme.dev', 'https://git.acme.dev/a/b/-/issues'], 'https://git.acme.dev/a/b/-/tree/HEAD/'],
  [[null, null, 'https://codeberg.org/a/b/issues/'], 'https://codeberg.org/a/b'],
  [[null, 'https://acme.dev', 'https://acme.dev/bugs'], 'https://acme.dev'],
  [[null, null, null], null],
])('finds the repository in the URLs of a pubspec: %j', ([repository, homepage, issueTracker], expected) => {
  expect(repositoryOf({ repository: repository ?? null, homepage: homepage ?? null, issueTracker: issueTracker ?? null })).toBe(expected)
})
