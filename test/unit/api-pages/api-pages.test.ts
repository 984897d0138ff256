import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { buildPages } from '../../../server/analysis/api-pages/build.ts'
import { packPages, PagesTooLarge, readIndex } from '../../../server/analysis/api-pages/pack.ts'
import { about, apiOf, declared, memberOf, pagesOf, shapes } from '../../support/api.ts'

const mainOf = (page: string | undefined) => /<main[^>]*>([\s\S]*)<\/main>/.exec(page ?? '')?.[1] ?? ''

it('creates a page for each library and type, and a search page', async () => {
  expect([...(await pagesOf(shapes, about)).keys()].toSorted()).toEqual([
    'extras/index.html',
    'index.html',
    'search.html',
    'shapes/Circle.html',
    'shapes/Shape.html',
    'shapes/index.html',
  ])
})

it('documents a declaration that several libraries export on one page', async () => {
  const extras = mainOf((await pagesOf(shapes, about)).get('extras/index.html'))
  expect(extras).toContain('<a href="../shapes/Shape.html">Shape</a>')
  expect(extras).not.toContain('<h2 id="section-classes">')
})

it('links the types of signatures, and wraps long ones to a line per parameter', async () => {
  const circle = mainOf((await pagesOf(shapes, about)).get('shapes/Circle.html'))
  expect(circle).toContain('<span class="k">class</span> Circle <span class="k">extends</span> <a href="Shape.html">Shape</a>')
  expect(circle).toContain(
    'Circle.around(\n  <a href="Shape.html">Shape</a> other, {\n  double margin = 1.5,\n  String label = &#39;a, Shape&#39;,\n  ',
  )
})

it('lists inherited members, subtypes and supertypes', async () => {
  const pages = await pagesOf(shapes, about)
  expect(mainOf(pages.get('shapes/Circle.html'))).toContain('<li><a href="Shape.html#area">area</a></li>')
  expect(mainOf(pages.get('shapes/Shape.html'))).toContain('<dt>Subtypes</dt>\n<dd>\n<a href="Circle.html">Circle</a>')
})

it.each([
  ['[Circle]', '<a href="../shapes/Circle.html">Circle</a>'],
  ['[Circle.around]', '<a href="../shapes/Circle.html#Circle.around">Circle.around</a>'],
  ['[Circle.area]', '<a href="../shapes/Shape.html#area">Circle.area</a>'],
  ['[new Circle]', '<a href="../shapes/Circle.html#Circle">new Circle</a>'],
  ['[Shape.==]', '[Shape.==]'],
  ['[Shape.operator ==]', '<a href="../shapes/Shape.html#operator%3D%3D">Shape.operator ==</a>'],
  ['[largest()]', '<a href="../shapes/index.html#largest">largest()</a>'],
  ['[shapes.Circle]', '<a href="../shapes/Circle.html">shapes.Circle</a>'],
  ['[count]', '<code>count</code>'],
  ['[Unknown]', '<code>Unknown</code>'],
  ['list[0]', 'list[0]'],
  ['[our site](https://example.com)', '<a href="https://example.com/" rel="nofollow ugc noopener">our site</a>'],
  ['[Circle][]', '<a'],
  ["a\n@docImport 'other.dart';\nb", '<p>a</p>\n<p>b</p>'],
  ['`[Circle]`', '<code>[Circle]</code>'],
  ['{@macro round}', 'It is <a href="../shapes/Circle.html">Circle</a>-shaped.'],
  ['<i>a</i> [measure]', '<i>a</i> <a href="#measure">measure</a>'],
  ['a <b>bold</b> [Circle]', 'a <b>bold</b> <a href="../shapes/Circle.html"'],
])('resolves %s in a doc comment', async (doc, shown) => {
  const named = declared('function', 'measure', { doc, signature: 'void measure(int count)' })
  const api = { ...shapes, libraries: [...shapes.libraries, ...apiOf([named], { path: 'more.dart', name: 'more' }).libraries] }
  expect(mainOf((await pagesOf(api, about)).get('more/index.html'))).toContain(shown)
})

it('renders Markdown as in documents of the package, in comments and in the README', async () => {
  const text = `\`\`\`dart
final a = '<b>'; // c
\`\`\`

\`\`\`yaml
a: 1
\`\`\`

    const indented = 1;

\`\`\`
class Unnamed {}
\`\`\`

> [!WARNING]
> Hot. :fire:

| a | b |
|--:|:-:|
| 1 | 2 |

- [ ] open

[Guide](../doc/guide.md#start), [changes](/CHANGELOG.md), [above](../../elsewhere.md), [site](https://example.com), a note[^1].

[^1]: The note.
`
  const own = [declared('class', 'Shown', { doc: text }), declared('class', 'Other', { doc: `[x](src/a.dart) a[^1]\n\n[^1]: b` })]
  const repository = 'https://github.com/acme/shapes'
  const pages = await pagesOf(apiOf(own), { ...about, readme: text, repository })
  const version = `packages/${about.name}/versions/${about.version}`
  for (const [path, up] of [
    ['shapes/Shown.html', '../../../../'],
    ['index.html', '../../../'],
  ] as const) {
    const page = mainOf(pages.get(path))
    expect(page).toContain('<span class="hl-c">// c</span>')
    expect(page).toContain('<span class="hl-g">a</span>')
    expect(page).toMatch(
      /<div class="markdown-alert markdown-alert-warning"><p class="markdown-alert-title">Warning<\/p>\s*<p>Hot. \u{1f525}<\/p>/u,
    )
    expect(page).toMatch(/<th align="right">a<\/th>\s*<th align="center">b<\/th>/)
    expect(page).not.toMatch(/style=|\u{fdd0}/u)
    expect(page).toContain(`<a href="${up}${version}/changelog">changes</a>`)
    expect(page).toMatch(/ href="https:\/\/example\.com\/"[^>]*>site<\/a>/)
    expect(page).toContain('type="checkbox"')
    expect(page).toContain('The note.')
  }
  const shown = mainOf(pages.get('shapes/Shown.html'))
  expect(shown).toContain(`<a href="../../../../${version}/files/doc/guide.md#start">Guide</a>`)
  expect(shown).toContain('<span class="hl-n">Unnamed</span>')
  expect(shown).toContain('<span class="hl-k">const</span> indented')
  const ids = [...(pages.get('shapes/Shown.html')?.matchAll(/ id="([^"]+)"/g) ?? [])].map(([, id]) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

it('omits declarations marked @nodoc', async () => {
  const api = apiOf([
    declared('class', 'Secret', { doc: '@nodoc' }),
    declared('class', 'Open', { members: [memberOf('method', 'inner', '{@nodoc}')] }),
  ])
  const pages = await pagesOf(api, about)
  expect([...pages.values()].join('')).not.toMatch(/Secret|inner/)
})

it('leaves the URLs of images to the server that sends the pages, and lists declarations without images', async () => {
  const doc = '![a](https://example.com/a.png) ![b](doc/b.png) ![c](../../../../c.png) <img src="/d.png" alt="d">'
  const pages = await pagesOf(apiOf([declared('class', 'Shown', { doc })]), { ...about, repository: 'https://github.com/acme/shapes' })
  const sources = (path: string) => Array.from(mainOf(pages.get(path)).matchAll(/<img src="([^"]*)"/g), ([, source]) => source)
  expect(sources('shapes/Shown.html')).toEqual([
    '\u{FDD0}image:https://example.com/a.png',
    '\u{FDD0}image:https://github.com/acme/shapes/raw/HEAD/lib/doc/b.png',
    '\u{FDD0}image:https://github.com/acme/shapes/raw/HEAD/d.png',
  ])
  expect(sources('shapes/index.html')).toEqual([])
  expect(mainOf(pages.get('shapes/index.html'))).toContain('>a</a>')
})

it('escapes all content of a package', async () => {
  const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>\'</script>\u2028'
  const doc = `${evil}\n\n<a href="javascript:alert(1)" onclick="x()">a</a> [b](javascript:alert(1)) [c](//evil.example) <iframe src="https://evil.example"></iframe> <form action="/x"><input name="y"></form> ![p](https://evil.example/p.png) <img src="https://evil.example/q.png" srcset="https://evil.example/r.png 2x"> <picture><source srcset="https://evil.example/s.png"></picture> <meta http-equiv="refresh" content="0;url=https://evil.example"> <style>*{}</style> [${evil}]`
  const member = { ...memberOf('method', evil, doc), signature: evil, deprecated: doc, source: { path: evil, line: 1 } }
  const types = (['class', 'extension type', 'function', 'constant'] as const).map((kind) => ({
    ...declared(kind, evil, { doc, signature: evil, members: [member] }),
    deprecated: doc,
    supertypes: [{ relation: 'extends' as const, type: evil }],
  }))
  const api = apiOf(types)
  const hostile = {
    ...api,
    libraries: api.libraries.map((library) => ({ ...library, name: evil, doc, path: `${evil}.dart`, foreignExports: [evil] })),
  }
  const texts = { name: evil, version: evil, description: evil, readme: doc, repository: `https://github.com/${evil}` }
  const pages = await pagesOf(hostile, texts)
  expect(pages.size).toBe(5)
  for (const [path, content] of pages) {
    expect(path).toMatch(/^[\w$=.-]+(\/[\w$=.-]+)?\.html$/)
    const outside = content
      .replaceAll(/<img src="\u{FDD0}image:https:\/\/evil\.example\/[pq]\.png" alt="p?" loading="lazy" decoding="async" \/>/gu, '')
      .replaceAll(/<source srcset="\u{FDD0}image:https:\/\/evil\.example\/s\.png" \/>/gu, '')
      .replace(/<script src="(\.\.\/)+-\/docs\.js" data-search="(\.\.\/)*search\.html"><\/script>/, '')
      .replace(/<script type="application\/json" id="page-index">[^<]*<\/script>/, '')
    expect(outside).not.toMatch(
      /<(script|img|source|iframe|form|style|meta http|object|embed|svg|base)|<[^>]*\son\w+=[^>]*>(?!<)|javascript:[^<]*"/i,
    )
    for (const [, href = ''] of outside.matchAll(/<[^>]*\s(?:href|src)="([^"]*)"/g)) expect(href).toMatch(/^(https?:\/\/|#|[\w./%-])/)
  }
})

it('packs pages deterministically and reads single pages', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'snug-pack-'))
  try {
    const file = join(folder, 'pages')
    const { pages, bytes } = await packPages(buildPages(shapes, about), file)
    const packed = await readFile(file)
    expect({ pages, bytes }).toEqual({ pages: 6, bytes: packed.length })
    const index = await readIndex(bytes, async ({ start, end }) => packed.subarray(start, end + 1))
    const { offset, length, size } = index.get('shapes/Circle.html') ?? { offset: 0, length: 0, size: 0 }
    const content = gunzipSync(packed.subarray(offset, offset + length)).toString()
    expect(Buffer.byteLength(content)).toBe(size)
    expect(content).toBe((await pagesOf(shapes, about)).get('shapes/Circle.html'))
    await packPages(buildPages(shapes, about), file)
    expect(await readFile(file)).toEqual(packed)
    await expect(packPages([{ path: 'a', content: 'x'.repeat(17 * 1024 ** 2) }], file)).rejects.toThrow(PagesTooLarge)
    await expect(readFile(file)).rejects.toThrow('ENOENT')
    await expect(readIndex(bytes, async () => Buffer.from('something else'))).rejects.toThrow('not packed documentation')
  } finally {
    await rm(folder, { recursive: true })
  }
})
