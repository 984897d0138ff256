import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { importDartdoc } from '../../../server/analysis/api-pages/dartdoc.ts'
import { dartdocFolder } from '../../support/dartdoc.ts'
import { readIndex } from '../../../server/analysis/api-pages/pack.ts'

const about = { name: 'shapes', version: '1.2.0' }

/** Imports a folder and returns its pages. */
async function importPages(folder: string): Promise<Map<string, string>> {
  const target = await mkdtemp(join(tmpdir(), 'snug-pack-'))
  try {
    const file = join(target, 'pages')
    const { bytes } = await importDartdoc(folder, about, file)
    const packed = await readFile(file)
    const index = await readIndex(bytes, async ({ start, end }) => packed.subarray(start, end + 1))
    return new Map([...index].map(([path, { offset, length }]) => [path, gunzipSync(packed.subarray(offset, offset + length)).toString()]))
  } finally {
    await rm(target, { recursive: true })
  }
}

it("imports dartdoc's pages and no other files of the folder", async () => {
  await using folder = await dartdocFolder()
  const pages = await importPages(folder.path)
  expect([...pages.keys()]).toEqual([
    'index.html',
    'shapes/Circle-class.html',
    'shapes/Circle/Circle.html',
    'shapes/Shape-class.html',
    'shapes/index.html',
    'search.html',
  ])
  const circle = pages.get('shapes/Circle-class.html') ?? ''
  expect(circle).toContain('<title>Circle class - shapes library - Dart API</title>')
  expect(circle).toContain(
    '<li><a href="../index.html">shapes 1.2.0</a></li><li><a href="index.html">shapes.dart</a></li><li><span aria-current="page">Circle class</span></li>',
  )
  expect(circle).toContain(
    'A round <a href="Shape-class.html">Shape</a>; see <a href="https://example.com/round" rel="nofollow ugc noopener">more</a>.',
  )
  expect(circle).toContain('<a href="#constructors">Constructors</a>')
  expect(circle).toContain('<a href="Circle/Circle.html">Circle</a>')
  expect(circle).toContain('<dt class="callable" id="Circle">')
  expect(circle).not.toMatch(/static-assets|fonts\.g|sidebar|search-box/)
  expect(pages.get('shapes/Circle/Circle.html')).toContain('<script src="../../../../-/docs.js"')
})

it('keeps images of other servers, without their URLs', async () => {
  await using folder = await dartdocFolder()
  const path = join(folder.path, 'shapes', 'Circle-class.html')
  const images =
    '<img src="https://example.com/a.png?b=1&amp;c" alt="A" width="40px" class="skip" onload="x"><img src="b.png" alt="B"><img src="data:image/png;base64,AA==">'
  await writeFile(path, (await readFile(path, 'utf8')).replace('Makes one.', images))
  expect((await importPages(folder.path)).get('shapes/Circle-class.html')).toContain(
    '<img src="\u{FDD0}image:https://example.com/a.png?b=1&amp;c" alt="A" width="40" loading="lazy" decoding="async" /><span>B</span><span>Picture</span>',
  )
})

it('removes everything that could execute, submit, load or deceive', async () => {
  await using folder = await dartdocFolder()
  const pages = await importPages(folder.path)
  for (const [path, page] of pages) {
    const outside = page
      .replace(/<script src="[./]+-\/docs\.js" data-search="[./]*search\.html"><\/script>/, '')
      .replace(/<script type="application\/json" id="page-index">[^<]*<\/script>/, '')
    expect(outside, path).not.toMatch(
      /<(script|img|svg|math|iframe|form|input|button|meta http|base|object|embed|video|style)\b|href="\w*script:|\son\w+="|style=|evil\.example\/(?!")|id="page-index"|class="skip theme/i,
    )
  }
  expect(pages.get('shapes/Shape-class.html')).toContain('<p id="after">after all of it</p>')
  expect(pages.get('search.html')).toContain('["Circle","constructor","Circle","shapes/Circle/Circle.html"]')
  expect(pages.get('search.html')).not.toMatch(/"evil"|passwd/)
})

it('fails if there is no documentation', async () => {
  await using folder = await dartdocFolder()
  await rm(join(folder.path, 'index.html'))
  await expect(importPages(folder.path)).rejects.toThrow('dart doc wrote no index.html')
})

it.each([
  ['without main content', '<html><body><main><h1>Shapes</h1></main></body></html>'],
  ['that is empty', ''],
])('rejects documentation with a page %s', async (_, html) => {
  await using folder = await dartdocFolder()
  await writeFile(join(folder.path, 'shapes/index.html'), html)
  await expect(importPages(folder.path)).rejects.toThrow('the page shapes/index.html in a layout that this server does not know')
})
