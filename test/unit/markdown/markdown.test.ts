import { describe, expect, it } from 'vitest'
import { insertAddresses, linkResolver, repositoryLinks } from '../../../server/registry/markdown/links.ts'
import { renderMarkdown } from '../../../server/registry/markdown/render.ts'

const render = (source: string, repository: string | null = null, path = 'README.md') =>
  renderMarkdown(source, repositoryLinks(repository, path)).trim()

describe('allowed Markdown and HTML', () => {
  it.each([
    ['# Title', '<h1 id="doc-title">Title</h1>'],
    ['# A `b` C!\n\n# A b C', '<h1 id="doc-a-b-c">A <code>b</code> C!</h1>\n<h1 id="doc-a-b-c-1">A b C</h1>'],
    [
      '| a |\n|--:|\n| 1 |',
      '<table>\n<thead>\n<tr>\n<th align="right">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align="right">1</td>\n</tr>\n</tbody>\n</table>',
    ],
    [
      '- [x] done\n- [ ] open',
      '<ul>\n<li class="task"><input type="checkbox" disabled checked /> done</li>\n<li class="task"><input type="checkbox" disabled /> open</li>\n</ul>',
    ],
    [
      '~~gone~~ https://example.com',
      '<p><s>gone</s> <a href="https://example.com/" rel="nofollow ugc noopener">https://example.com</a></p>',
    ],
    ['```dart\nvoid main() {}\n```', '<pre><code class="language-dart">void main() {}\n</code></pre>'],
    ['[up](#title)', '<p><a href="#doc-title">up</a></p>'],
    ['<details><summary>More</summary>text</details>', '<details><summary>More</summary>text</details>'],
  ])('renders %s', (source, html) => {
    expect(render(source)).toBe(html)
  })
})

describe('hostile Markdown and HTML', () => {
  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<img src="https://example.com/a.png" onload="alert(1)">',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '<a href="java&#x0a;script:alert(1)">x</a>',
    '<a href=" javascript:alert(1)">x</a>',
    '[x](data:text/html,<script>alert(1)</script>)',
    '[x](vbscript:alert(1))',
    '<svg><script>alert(1)</script></svg>',
    '<svg/onload=alert(1)>',
    '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>',
    '<iframe src="https://example.com"></iframe>',
    '<form action="https://example.com"><input name=a><button>x</button></form>',
    '<input type="text" onfocus=alert(1) autofocus>',
    '<style>body{display:none}</style>',
    '<p style="position:fixed;inset:0">x</p>',
    '<link rel=stylesheet href=https://example.com>',
    '<base href="https://example.com">',
    '<meta http-equiv="refresh" content="0;url=https://example.com">',
    '<object data=x></object><embed src=x>',
    '<p class="fixed inset-0" id="app">x</p>',
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    '<a href="//example.com">x</a>',
    '![x](http://example.com/track.png)',
    '![x](//example.com/track.png)',
  ])('sanitizes %s', (source) => {
    const html = render(source, 'https://github.com/acme/tools')
    expect(html).not.toMatch(/<(script|style|iframe|form|button|object|embed|link|meta|base|svg|math|noscript)/i)
    expect(html.replace(/"[^"]*"/g, '""')).not.toMatch(/<[^>]*\s(on\w+|class|action|srcdoc)\s*=/i)
    expect(html).not.toMatch(/href="(?!https?:\/\/|#doc-)/i)
    // No resources are loaded, because other servers could track readers by them.
    expect(html.replace(/"[^"]*"/g, '""')).not.toMatch(/<(img|picture|video|source)|<[^>]*\ssrc(set)?\s*=/i)
    expect(html).not.toMatch(/style=/i)
    expect(html).not.toMatch(/id="(?!doc-)/i)
  })

  it('renders deep nesting in bounded time', () => {
    const start = process.threadCpuUsage()
    render('> '.repeat(5000) + 'x')
    render('<div>'.repeat(20_000))
    render('['.repeat(50_000))
    render('*a '.repeat(40_000))
    // CPU time, so that a busy machine does not cause failures.
    const { user, system } = process.threadCpuUsage(start)
    expect((user + system) / 1000).toBeLessThan(4000)
  })
})

describe('relative URLs', () => {
  const github = 'https://github.com/acme/tools'
  it.each([
    [github, 'doc/guide.md#start', 'https://github.com/acme/tools/blob/HEAD/doc/guide.md#start'],
    [`${github}.git`, './doc/guide.md', 'https://github.com/acme/tools/blob/HEAD/doc/guide.md'],
    [`${github}/`, '/LICENSE', 'https://github.com/acme/tools/blob/HEAD/LICENSE'],
    [`${github}/tree/main/packages/a`, 'doc/guide.md', 'https://github.com/acme/tools/blob/main/packages/a/doc/guide.md'],
    [`${github}/tree/main/packages/a`, '../b/README.md', 'https://github.com/acme/tools/blob/main/packages/b/README.md'],
    [`${github}/tree/main/packages/a`, '../../../../../other/evil', null],
    ['https://gitlab.com/group/sub/tools', 'doc/guide.md', 'https://gitlab.com/group/sub/tools/-/blob/HEAD/doc/guide.md'],
    ['https://gitlab.example.com/group/tools/-/tree/main/a', 'x.md', 'https://gitlab.example.com/group/tools/-/blob/main/a/x.md'],
    ['https://github.example.com/acme/tools', 'x.md', 'https://github.example.com/acme/tools/blob/HEAD/x.md'],
    ['https://git.acme.dev/group/sub/tools/-/tree/main/a', 'x.md', 'https://git.acme.dev/group/sub/tools/-/blob/main/a/x.md'],
    ['https://git.acme.dev/acme/tools/src/branch/main/a', '../x.md', 'https://git.acme.dev/acme/tools/src/branch/main/x.md'],
    ['https://git.acme.dev/acme/tools/src/tag/v1/a', '../../../../../../x', null],
    ['https://codeberg.org/acme/tools.git', '/x.md', 'https://codeberg.org/acme/tools/src/HEAD/x.md'],
    ['https://codeberg.org/acme', 'x.md', null],
    ['https://example.com/acme/tools', 'x.md', null],
    ['https://github.com/acme', 'x.md', null],
    ['https://notgithub.com/acme/tools', 'x.md', null],
    [null, 'x.md', null],
    [github, 'https://example.com/x', 'https://example.com/x'],
    [github, 'mailto:a@example.com', 'mailto:a@example.com'],
    [github, 'ftp://example.com/x', null],
  ])('resolves against %s: %s', (repository, target, expected) => {
    expect(repositoryLinks(repository, 'README.md')(target, 'link')).toBe(expected)
  })

  it('turns images that are not loaded into links, which have a target relative to the folder of the document', () => {
    expect(render('![a](shot.png)', github, 'example/README.md')).toBe(
      '<p><a href="https://github.com/acme/tools/blob/HEAD/example/shot.png" rel="nofollow ugc noopener">a</a></p>',
    )
    expect(render('[![badge](https://ci.example/x.svg)](https://ci.example)', github)).toBe(
      '<p><a href="https://ci.example/" rel="nofollow ugc noopener"><span>badge</span></a></p>',
    )
    expect(render('[a](x.md) ![b](y.png)')).toBe('<p><a>a</a> <span>b</span></p>')
  })
})

describe('links of a package', () => {
  const serverUrl = 'https://pub.example/base'
  const links = { kind: 'package', serverUrl, repository: null, images: { mode: 'off', serverUrl } } as const
  const version = { basePath: '/base', name: 'acme', version: '1.0.0+2' }
  const hrefOf = (target: string, { path = 'README.md', repository = null as string | null } = {}) =>
    /href="([^"]*)"/.exec(
      insertAddresses(renderMarkdown(`[a](<${target}>)`, linkResolver({ ...links, path, repository })), version),
    )?.[1] ?? null
  const page = '/base/packages/acme/versions/1.0.0%2B2'
  const github = 'https://github.com/acme/mono/tree/main/packages/acme'

  it.each([
    ['doc/guide.md#start', `${page}/files/doc/guide.md#start`],
    ['./doc/my guide.md', `${page}/files/doc/my%20guide.md`],
    ['/lib/acme.dart?raw=true', `${page}/files/lib/acme.dart`],
    ['example', `${page}/files/example`],
    ['CHANGELOG.md#100', `${page}/changelog#doc-100`],
    ['readme.md', page],
    ['LICENSE', `${page}/license`],
    ['../other/README.md', null],
    ['a/../../b.md', null],
    ['%2e%2e/b.md', null],
    ['//evil.example/x', null],
    ['/\\evil.example/x', `${page}/files/%5Cevil.example/x`],
    ['javascript:alert(1)', null],
    ['https://example.com/x', 'https://example.com/x'],
  ])('resolves %s', (target, expected) => {
    expect(hrefOf(target)).toBe(expected)
  })

  it('resolves targets relative to the folder of the document, and targets outside of the package to its repository', () => {
    expect(hrefOf('../lib/a.dart', { path: 'example/README.md' })).toBe(`${page}/files/lib/a.dart`)
    expect(hrefOf('../b/README.md', { repository: github })).toBe('https://github.com/acme/mono/blob/main/packages/b/README.md')
    expect(hrefOf('../../../../evil', { repository: github })).toBe(null)
  })

  it('loads images of this server directly, such as badges, and no others', () => {
    const srcOf = (target: string) =>
      /src="([^"]*)"/.exec(renderMarkdown(`![a](<${target}>)`, linkResolver({ ...links, path: 'README.md' })))?.[1] ?? null
    expect(srcOf(`${serverUrl}/packages/acme/badges/version.svg`)).toBe('/base/packages/acme/badges/version.svg')
    for (const image of ['raw/acme/1.0.0/doc/a.png', 'thumbnails/acme/1.0.0/a.png', 'packages/acme/preview.png', 'api/logo?v=1'])
      expect(srcOf(`${serverUrl}/${image}`)).toBe(`/base/${image}`)
    for (const effect of [
      'api/packages/versions/new',
      'api/archives/acme-1.0.0.tar.gz',
      'packages/acme/versions/1.0.0.tar.gz',
      'oauth/authorize?client_id=a',
      'raw/../api/packages/versions/new',
      'packages/acme/badges/../../../api/packages/versions/new',
      'api/packages/versions/new?/raw/a.png',
    ])
      expect(srcOf(`${serverUrl}/${effect}`), effect).toBe(null)
    expect(srcOf('https://pub.example/basement/a.png')).toBe(null)
    expect(srcOf('https://pub.example.evil.example/base/a.png')).toBe(null)
    expect(srcOf('https://pub.example/base/../a.png')).toBe(null)
  })

  it('ignores placeholders in the text', () => {
    const html = renderMarkdown(
      '\u{FDD0}page <a href="&#xFDD0;page">x</a> [y](\u{FDD0}raw/x)',
      linkResolver({ ...links, path: 'README.md' }),
    )
    expect(insertAddresses(html, version)).not.toMatch(/acme\/raw|^<p>.?\/base/)
  })
})
