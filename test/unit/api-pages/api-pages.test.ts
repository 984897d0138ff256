import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { buildPages } from '../../../server/analysis/api-pages/build.ts'
import { packPages, PagesTooLarge, readIndex } from '../../../server/analysis/api-pages/pack.ts'
import { about, apiOf, declared, filesOf, memberOf, pagesOf, shapes } from '../../support/api.ts'

it('creates a page for each library and type, and indexes of their declarations', async () => {
  const files = await filesOf(shapes, about)
  expect([...files.keys()]).toEqual([
    '',
    '*libraries',
    '*symbols',
    '*file:lib/shapes.dart',
    'shapes',
    'shapes/Shape',
    'shapes/Circle',
    'extras',
  ])
  const page = JSON.parse(files.get('shapes/Circle') ?? '{}')
  expect(page).toMatchObject({ title: 'Circle', kind: 'class', library: { name: 'shapes', path: 'shapes' } })
  expect(page.contents).toEqual([
    {
      id: 'section-constructors',
      label: 'Constructors',
      entries: [
        { id: 'api-Circle', label: 'Circle' },
        { id: 'api-Circle.around', label: 'Circle.around' },
      ],
    },
    { id: 'section-inherited', label: 'Inherited', entries: [] },
  ])
  const [library] = JSON.parse(files.get('*libraries') ?? '[]')
  expect(library.declarations).toEqual([
    { name: 'Circle', kind: 'class', path: 'shapes/Circle', anchor: null, isDeprecated: false },
    { name: 'largest', kind: 'function', path: 'shapes', anchor: 'largest', isDeprecated: false },
    { name: 'Shape', kind: 'class', path: 'shapes/Shape', anchor: null, isDeprecated: false },
  ])
  const located = JSON.parse(files.get('*file:lib/shapes.dart') ?? '[]') as { name: string; line: number }[]
  expect(located).toContainEqual({ name: 'Shape.area', path: 'shapes/Shape', anchor: 'area', line: expect.any(Number) })
  expect(located.map(({ line }) => line)).toEqual(located.map(({ line }) => line).toSorted((a, b) => a - b))
})

it('documents a declaration that several libraries export on one page', async () => {
  const extras = (await pagesOf(shapes, about)).get('extras')
  expect(extras).toContain('<a href="{page}/api/shapes/Shape">Shape</a>')
  expect(extras).not.toContain('<h2 id="section-classes">')
})

it('links the types of signatures, and wraps long ones to a line per parameter', async () => {
  const circle = (await pagesOf(shapes, about)).get('shapes/Circle')
  expect(circle).toContain(
    '<span class="hl-k">class</span> Circle <span class="hl-k">extends</span> <a href="{page}/api/shapes/Shape">Shape</a>',
  )
  const named = apiOf([declared('function', 'get', { signature: 'Shape get(int get)' })])
  expect((await pagesOf(named, about)).get('shapes')).toContain('<code>Shape get(int get)</code>')
  expect(circle).toContain(
    'Circle.around(\n  <a href="{page}/api/shapes/Shape">Shape</a> other, {\n  double margin = 1.5,\n  String label = &#39;a, Shape&#39;,\n  ',
  )
})

it('lists inherited members, subtypes and supertypes', async () => {
  const pages = await pagesOf(shapes, about)
  expect(pages.get('shapes/Circle')).toContain('<li><a href="{page}/api/shapes/Shape#area">area</a></li>')
  expect(pages.get('shapes/Shape')).toContain('<dt>Subtypes</dt>\n<dd>\n<a href="{page}/api/shapes/Circle">Circle</a>')
})

it.each([
  ['[Circle]', '<a href="{page}/api/shapes/Circle">Circle</a>'],
  ['[Circle.around]', '<a href="{page}/api/shapes/Circle#Circle.around">Circle.around</a>'],
  ['[Circle.area]', '<a href="{page}/api/shapes/Shape#area">Circle.area</a>'],
  ['[new Circle]', '<a href="{page}/api/shapes/Circle#Circle">new Circle</a>'],
  ['[Shape.==]', '[Shape.==]'],
  ['[Shape.operator ==]', '<a href="{page}/api/shapes/Shape#operator%3D%3D">Shape.operator ==</a>'],
  ['[largest()]', '<a href="{page}/api/shapes#largest">largest()</a>'],
  ['[shapes.Circle]', '<a href="{page}/api/shapes/Circle">shapes.Circle</a>'],
  ['[count]', '<code>count</code>'],
  ['[Unknown]', '<code>Unknown</code>'],
  ['list[0]', 'list[0]'],
  ['[our site](https://example.com)', '<a href="https://example.com/" rel="nofollow ugc noopener">our site</a>'],
  ['[Circle][]', '<a'],
  ["a\n@docImport 'other.dart';\nb", '<p>a</p>\n<p>b</p>'],
  ['`[Circle]`', '<code>[Circle]</code>'],
  ['{@macro round}', 'It is <a href="{page}/api/shapes/Circle">Circle</a>-shaped.'],
  ['<i>a</i> [measure]', '<i>a</i> <a href="{page}/api/more#measure">measure</a>'],
  ['a <b>bold</b> [Circle]', 'a <b>bold</b> <a href="{page}/api/shapes/Circle"'],
])('resolves %s in a doc comment', async (doc, shown) => {
  const named = declared('function', 'measure', { doc, signature: 'void measure(int count)' })
  const api = { ...shapes, libraries: [...shapes.libraries, ...apiOf([named], { path: 'more.dart', name: 'more' }).libraries] }
  expect((await pagesOf(api, about)).get('more')).toContain(shown)
})

it('renders Markdown as in documents of the package', async () => {
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
  const pages = await pagesOf(apiOf(own), { ...about, repository })
  const page = pages.get('shapes/Shown') ?? ''
  expect(page).toContain('<span class="hl-c">// c</span>')
  expect(page).toContain('<span class="hl-g">a</span>')
  expect(page).toMatch(
    /<div class="markdown-alert markdown-alert-warning"><p class="markdown-alert-title">Warning<\/p>\s*<p>Hot. \u{1f525}<\/p>/u,
  )
  expect(page).toMatch(/<th align="right">a<\/th>\s*<th align="center">b<\/th>/)
  expect(page).not.toMatch(/style=|\u{fdd0}/u)
  expect(page).toContain('<a href="{page}/changelog">changes</a>')
  expect(page).toMatch(/ href="https:\/\/example\.com\/"[^>]*>site<\/a>/)
  expect(page).toContain('type="checkbox"')
  expect(page).toContain('The note.')
  expect(page).toContain('<a href="{page}/files/doc/guide.md#start">Guide</a>')
  expect(page).toContain('<span class="hl-n">Unnamed</span>')
  expect(page).toContain('<span class="hl-k">const</span> indented')
  const ids = Array.from(page.matchAll(/ id="([^"]+)"/g), ([, id]) => id)
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
  const sources = (path: string) => Array.from((pages.get(path) ?? '').matchAll(/<img src="([^"]*)"/g), ([, source]) => source)
  expect(sources('shapes/Shown')).toEqual([
    '\u{FDD0}image:https://example.com/a.png',
    '\u{FDD0}image:https://github.com/acme/shapes/raw/HEAD/lib/doc/b.png',
    '\u{FDD0}image:https://github.com/acme/shapes/raw/HEAD/d.png',
  ])
  expect(sources('shapes')).toEqual([])
  expect(pages.get('shapes')).toContain('>a</a>')
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
  const texts = { name: evil, version: evil, description: evil, repository: `https://github.com/${evil}` }
  const pages = await pagesOf(hostile, texts)
  expect(pages.size).toBe(4)
  for (const [path, content] of pages) {
    expect(path).toMatch(/^(?:[\w$=.-]+(?:\/[\w$=.-]+)?)?$/)
    const outside = content
      .replaceAll(/<img src="\u{FDD0}image:https:\/\/evil\.example\/[pq]\.png" alt="p?" loading="lazy" decoding="async" \/>/gu, '')
      .replaceAll(/<source srcset="\u{FDD0}image:https:\/\/evil\.example\/s\.png" \/>/gu, '')
    expect(outside).not.toMatch(
      /<(script|img|source|iframe|form|style|meta http|object|embed|svg|base)|<[^>]*\son\w+=[^>]*>(?!<)|javascript:[^<]*"/i,
    )
    for (const [, href = ''] of outside.matchAll(/<[^>]*\s(?:href|src)="([^"]*)"/g)) expect(href).toMatch(/^(https?:\/\/|#|\{page\}\/)/)
  }
})

it('packs pages deterministically and reads single pages', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'snug-pack-'))
  try {
    const file = join(folder, 'pages')
    const { pages, bytes } = await packPages(buildPages(shapes, about), file)
    const packed = await readFile(file)
    expect({ pages, bytes }).toEqual({ pages: 5, bytes: packed.length })
    const index = await readIndex(bytes, async ({ start, end }) => packed.subarray(start, end + 1))
    const { offset, length, size } = index.get('shapes/Circle') ?? { offset: 0, length: 0, size: 0 }
    const content = gunzipSync(packed.subarray(offset, offset + length)).toString()
    expect(Buffer.byteLength(content)).toBe(size)
    expect(content).toBe((await filesOf(shapes, about)).get('shapes/Circle'))
    await packPages(buildPages(shapes, about), file)
    expect(await readFile(file)).toEqual(packed)
    await expect(packPages([{ path: 'a', content: 'x'.repeat(17 * 1024 ** 2) }], file)).rejects.toThrow(PagesTooLarge)
    await expect(readFile(file)).rejects.toThrow('ENOENT')
    await expect(readIndex(bytes, async () => Buffer.from('something else'))).rejects.toThrow('not packed documentation')
  } finally {
    await rm(folder, { recursive: true })
  }
})
