import { describe, expect, it } from 'vitest'
import { highlight, loadLanguages } from '../../../server/registry/markdown/highlight.ts'
import { insertImages } from '../../../server/registry/markdown/images.ts'
import { documentationLinks, type LinkResolver } from '../../../server/registry/markdown/links.ts'
import type { CodeBlock } from '../../../server/registry/markdown/languages.ts'
import { renderDocument, renderMarkdown } from '../../../server/registry/markdown/render.ts'

const resolve: LinkResolver = (target, purpose) =>
  purpose === 'page' ? null : /^https?:/.test(target) ? (purpose === 'image' ? `/proxy?${new URL(target).host}` : target) : `/own/${target}`
const colors = async (blocks: CodeBlock[]) => {
  const loaded = await loadLanguages(blocks.map(({ language }) => language))
  return blocks.map(({ code, language }) => highlight(loaded, code, language).join('\n'))
}
const render = async (source: string) => (await renderDocument(source, resolve, colors)).trim()
const rel = 'rel="nofollow ugc noopener"'
const heading = (html: string, id: string, text: string) =>
  `<div class="heading">${html}<a class="heading-link" href="#doc-${id}" aria-label="Permalink: ${text}">#</a></div>`

describe('GitHub Flavored Markdown', () => {
  it.each([
    ['# Use it!', heading('<h1 id="doc-use-it">Use it!</h1>', 'use-it', 'Use it!')],
    ['## :rocket: Go', heading('<h2 id="doc-rocket-go">🚀 Go</h2>', 'rocket-go', '🚀 Go')],
    [
      '# A\n\n<h1 align="center">A</h1>',
      `${heading('<h1 id="doc-a">A</h1>', 'a', 'A')}\n${heading('<h1 align="center" id="doc-a-1">A</h1>', 'a-1', 'A')}`,
    ],
    [
      '> [!WARNING]\n> Take **care**.',
      '<div class="markdown-alert markdown-alert-warning"><p class="markdown-alert-title">Warning</p><p>Take <strong>care</strong>.</p>\n</div>',
    ],
    [
      'a[^n]\n\n[^n]: b',
      '<p>a<sup class="footnote-ref"><a href="#doc-fn1" id="doc-fnref1">1</a></sup></p>\n<section class="footnotes"><ol>\n<li id="doc-fn1"><p>b <a class="footnote-backref" href="#doc-fnref1">↩\uFE0E</a></p>\n</li>\n</ol>\n</section>',
    ],
    [':white_check_mark: :) :unknown:', '<p>✅ :) :unknown:</p>'],
    ['www.example.com. pub.dev', `<p><a href="http://www.example.com" ${rel}>www.example.com</a>. pub.dev</p>`],
    [
      '```dart\nfinal a;\n```',
      '<div class="code-block"><pre><code class="language-dart"><span class="hl-k">final</span> a;</code></pre></div>',
    ],
    ['```unknown\n<b>\n```', '<div class="code-block"><pre><code class="language-unknown">&lt;b&gt;\n</code></pre></div>'],
    [
      '|a|\n|-|\n|b|',
      '<div class="table-box"><table>\n<thead>\n<tr>\n<th class="short">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td class="short">b</td>\n</tr>\n</tbody>\n</table></div>',
    ],
    [
      '<table><tr><td align="right">Windows 10+</td><td>a longer text</td><td><b>b</b></td></tr></table>',
      '<div class="table-box"><table><tr><td class="short" align="right">Windows 10+</td><td>a longer text</td><td><b>b</b></td></tr></table></div>',
    ],
    [
      '<pre lang="dart">\nfinal List&lt;int> a;\n\nfinal b;\n</pre>',
      '<div class="code-block"><pre><code class="language-dart"><span class="hl-k">final </span><span class="hl-n">List</span>&lt;<span class="hl-n">int</span>&gt; a;\n\n<span class="hl-k">final</span> b;</code></pre></div>',
    ],
    [
      '<pre lang="dart"><code>final a;</code></pre>',
      '<div class="code-block"><pre><code class="language-dart"><span class="hl-k">final</span> a;</code></pre></div>',
    ],
    ['<pre lang="dart"><b>final</b> a;</pre>', '<div class="code-block"><pre lang="dart"><b>final</b> a;</pre></div>'],
    ['<pre lang="unknown">final a;</pre>', '<div class="code-block"><pre lang="unknown">final a;</pre></div>'],
  ])('renders %s', async (source, html) => {
    expect(await render(source)).toBe(html)
  })
})

describe('images', () => {
  const lazy = 'loading="lazy" decoding="async"'
  it.each([
    ['![A](a.png)', `<p><img src="/own/a.png" alt="A" ${lazy} /></p>`],
    [
      '<img src="a.png" width="50%" height="99999" style="position:fixed" class="x" onerror="x">',
      `<img src="/own/a.png" alt="" width="50%" ${lazy} />`,
    ],
    ['<img src="a.png" width="100px;" height=" 30.5">', `<img src="/own/a.png" alt="" width="100" height="30" ${lazy} />`],
    ['<img src="a.png" width="auto" height="-5">', `<img src="/own/a.png" alt="" ${lazy} />`],
    ['![](a.png#gh-dark-mode-only)', `<p><img src="/own/a.png#gh-dark-mode-only" alt="" ${lazy} /></p>`],
    [
      '[![B](https://ci.example/b.svg)](https://ci.example)',
      `<p><a href="https://ci.example" ${rel}><img src="/proxy?ci.example" alt="B" ${lazy} /></a></p>`,
    ],
    [
      '<picture><source media="(prefers-color-scheme: dark)" srcset="b.png 1x, https://x.example/c.png 2x" onload="x"><img src="a.png"></picture>',
      `<p><picture><source media="(prefers-color-scheme: dark)" srcset="/own/b.png 1x, /proxy?x.example 2x" /><img src="/own/a.png" alt="" ${lazy} /></picture></p>`,
    ],
    ['<picture><source srcset="a b c d"></picture>', '<p><picture></picture></p>'],
    [
      '<picture><source srcset="b.png"><img alt="A" width="9"></picture>',
      `<p><picture><source srcset="/own/b.png" /><img alt="A" width="9" ${lazy} /></picture></p>`,
    ],
    [
      '<picture><source srcset="a b c"><img alt="A"></picture><source srcset="b.png"><img alt="B">',
      '<p><picture><span>A</span></picture><source srcset="/own/b.png" /><span>B</span></p>',
    ],
  ])('renders %s', async (source, html) => {
    expect(await render(source)).toBe(html)
  })
})

describe('images of API documentation', () => {
  const insert = (source: string) =>
    insertImages(renderMarkdown(source, documentationLinks('https://github.com/acme/a', 'README.md')), {
      serverUrl: 'https://pub.example',
      mode: 'direct',
    }).trim()

  it('have the URLs of all sources inserted', () => {
    expect(
      insert('<picture><source srcset="b.png 2x, https://x.example/c,d.png"><img src="https://x.example/a,b.png?c&amp;d"></picture>'),
    ).toBe(
      '<p><picture><source srcset="https://github.com/acme/a/raw/HEAD/b.png 2x, https://x.example/c%2Cd.png" /><img src="https://x.example/a,b.png?c&amp;d" alt="" loading="lazy" decoding="async" /></picture></p>',
    )
  })

  it('are limited in number', () => {
    expect(insert('![](https://x.example/a.png)\n'.repeat(600)).match(/src="https:/g)).toHaveLength(500)
  })

  it('have no URL if it contains a password', () => {
    expect(insert('![a](https://x:y@x.example/a.png)')).toBe('<p><img alt="a" loading="lazy" decoding="async" /></p>')
  })
})

describe('hostile documents', () => {
  it('keeps code blocks out of the id and the label of a heading', async () => {
    const html = await render('<h2>\n\nUse\n\n```dart\nfinal a = "b";\n```\n\n</h2>')
    expect(html).toMatch(/<h2 id="doc-use">/)
    expect(html).toContain('aria-label="Permalink: Use"')
    expect(html).toContain('<span class="hl-')
    expect(html).not.toMatch(/\u{FDD0}|code-[0-9a-f]{8}-/u)
  })

  it.each([
    ['[https://pub.dev/packages/http](https://evil.example/x)', '(evil.example)'],
    ['<a href="https://evil.example">pub.dev</a>', '(evil.example)'],
    ['https://аррӏе.com', '(xn--80ak6aa92e.com)'],
    ['[https://pub.dev](https://evil.example "Packages")', '(evil.example)'],
    ['<a title="Packages" href="https://evil.example">pub.dev</a>', '(evil.example)'],
    ['<a href="https://pub.dev"><h2><a href="https://evil.example">https://pub.dev</a></h2></a>', '(evil.example)'],
    ['[https://pub.dev@evil.example](https://pub.dev@evil.example)', '(evil.example)'],
    ['[\u200Bhttps://pub.dev](https://evil.example)', '(evil.example)'],
    ['[\u202Eved.bup](https://evil.example)', '(evil.example)'],
    ['[See https://pub.dev/packages/http](https://evil.example)', '(evil.example)'],
    ['[👉 PUB.DEV](https://evil.example)', '(evil.example)'],
  ])('names the host of the misleading link %s', async (source, host) => {
    expect(await render(source)).toContain(`<small class="link-host">${host}</small>`)
  })

  it.each([
    '[README.md](https://example.com)',
    '[pub.dev](https://pub.dev/x)',
    '<https://www.example.com/a>',
    '[Dart 3.9](https://dart.dev)',
    '[`http.Client`](https://pub.dev)',
    '[v1.2.3](https://dart.dev)',
  ])('does not name the host of %s', async (source) => {
    expect(await render(source)).not.toContain('link-host')
  })

  it.each([
    '<span class="hl-k">x</span><div class="code-block heading-link">x</div>',
    '<p style="position:fixed">x</p><style>*{display:none}</style>',
    '<b id="app" class="fixed">x</b><a name="__proto__">x</a>',
    '> [!NOTE] <img src=x onerror=alert(1)>\n> x',
    '```<script>\nalert(1)\n```',
    '```dart" onclick="x\n"</code><script>alert(1)</script>"\n```',
    '# <a href="javascript:x" title="\'&quot;><script>">x</a> "&lt;script&gt;',
    ':smile" onclick=x:',
    '[^"><script>]: x\n\n[^"><script>]',
    '<img src="a.png" alt="&quot;><script>x</script>">',
    '<picture><source srcset="javascript:x 1x"></picture>',
  ])('sanitizes %s', async (source) => {
    const html = await render(source)
    expect(html).not.toMatch(/<(script|style|iframe)/i)
    expect(html.replace(/"[^"]*"/g, '""')).not.toMatch(/<[^>]*\s(on\w+|style)\s*=/i)
    expect(
      html.replaceAll(/ class="(markdown-alert[\w -]*|heading|heading-link|code-block|language-\w*|footnote-\w+|footnotes|hl-[ks])"/g, ''),
    ).not.toContain('class=')
    expect(html).not.toMatch(/ id="(?!doc-)| href="(?!https?:|#doc-|\/own\/)/i)
    if (!source.startsWith('```')) expect(html).not.toContain('hl-k')
  })

  it('does not insert highlighted code at a placeholder that the author wrote', async () => {
    expect(await render('\u{FDD0}code-0 <b>&#xFDD0;code-0</b>\n\n```dart\nfinal\n```')).toMatch(/^<p>code-0 <b>.?code-0<\/b><\/p>/u)
  })

  it('renders large and deeply nested documents in bounded time', async () => {
    const texts = [
      '# a\n'.repeat(20_000),
      '<h2>a</h2>\n'.repeat(20_000),
      `${'[^1]'.repeat(20_000)}\n\n[^1]: x`,
      '^['.repeat(10_000),
      '> [!NOTE]\n> x\n\n'.repeat(10_000),
      '```dart\nfinal a = 1;\n```\n'.repeat(3000),
      '<table><pre><h1>'.repeat(10_000),
      '<pre lang="dart">'.repeat(10_000),
      '<td>'.repeat(20_000),
      `<picture><source srcset="${'a,'.repeat(50_000)}">`,
      `${'www.'.repeat(20_000)} ${':a'.repeat(20_000)} ${'a@'.repeat(20_000)}`,
    ]
    const start = process.threadCpuUsage()
    for (const text of texts) await renderDocument(text, resolve, null)
    const { user, system } = process.threadCpuUsage(start)
    expect((user + system) / 1000).toBeLessThan(8000)
  })
})
