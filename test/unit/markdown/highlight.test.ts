import { describe, expect, it, vi } from 'vitest'
import { highlight, loadLanguages } from '../../../server/registry/markdown/highlight.ts'
import { grammars, type Language, languageNamed, languageOfFile } from '../../../server/registry/markdown/languages.ts'

const textOf = (html: string) =>
  html
    .replace(/<[^>]+>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

describe('highlighting', () => {
  it.each(Object.keys(grammars) as Language[])('keeps every character of a text as %s', async (language) => {
    const source = '# <b>&amp;</b> "x" \'y\'\n\n$ import foo; // comment\n<a href="x">\n\tclass A { int b = 1; }\n"unclosed\nlast'
    const lines = highlight(await loadLanguages([language]), `${source}\n`, language)
    expect(lines.map(textOf).join('\n')).toBe(source)
    expect(lines.join('').replaceAll(/<span class="hl-[ckntfgsd]">|<\/span>/g, '')).not.toContain('<')
  })

  it.each(['dart', 'yaml', 'json', 'markdown'] as const)('gives %s the same colors however long it takes', async (language) => {
    const loaded = await loadLanguages([language])
    const code = 'final a = "b"; // c\n{ "d": [1, true] }\n# `e` *f*\n'.repeat(100)
    const usual = highlight(loaded, code, language)
    // Every look at the clock takes a minute, as on a machine that does something else in the meantime.
    let now = 0
    const clocks = [performance, Date].map((clock) =>
      vi.spyOn(clock as Pick<typeof Date, 'now'>, 'now').mockImplementation(() => (now += 60_000)),
    )
    const late = highlight(loaded, code, language)
    for (const clock of clocks) clock.mockRestore()
    expect(late).toEqual(usual)
    expect(usual.join('')).toContain('<span')
  })

  it('marks the tokens of Dart', async () => {
    const loaded = await loadLanguages(['dart'])
    expect(highlight(loaded, "final a = 'b'; // c\nvoid main() => run(1);", 'dart')).toEqual([
      '<span class="hl-k">final</span> a <span class="hl-k">= </span><span class="hl-s">&#39;b&#39;</span>; <span class="hl-c">// c</span>',
      '<span class="hl-k">void </span><span class="hl-f">main</span>() <span class="hl-k">=&gt; </span><span class="hl-f">run</span>(<span class="hl-n">1</span>);',
    ])
  })

  it('shows characters that change the order of others', async () => {
    const loaded = await loadLanguages(['dart'])
    const marks = ['202A', '202B', '202C', '202D', '202E', '2066', '2067', '2068', '2069']
    const shown = marks.map((code) => `<span class="direction-mark" title="U+${code}">${String.fromCodePoint(parseInt(code, 16))}</span>`)
    for (const [index, code] of marks.entries())
      expect(highlight(loaded, `// a${String.fromCodePoint(parseInt(code, 16))}b`, 'dart')).toEqual([
        `<span class="hl-c">// a${shown[index]}b</span>`,
      ])
    expect(highlight(loaded, `${'a'.repeat(600_000)}\u202E`, 'dart')[0]).toMatch(
      /a<span class="direction-mark" title="U\+202E">\u202E<\/span>$/,
    )
  })

  it('keeps the state between parts of a long text', async () => {
    const lines = highlight(await loadLanguages(['dart']), `/*\n${'text\n'.repeat(500)}*/ final`, 'dart')
    expect(new Set(lines.slice(1, -1))).toEqual(new Set(['<span class="hl-c">text</span>']))
    expect(lines.at(-1)).toBe('<span class="hl-c">*/ </span><span class="hl-k">final</span>')
  })

  it('shows long lines, large texts, and lines after the deadline without colors', async () => {
    const loaded = await loadLanguages(['dart'])
    expect(highlight(loaded, `final ${'a'.repeat(3000)}\nfinal`, 'dart')).toEqual([
      `final ${'a'.repeat(3000)}`,
      '<span class="hl-k">final</span>',
    ])
    expect(highlight(loaded, 'final\n'.repeat(100_000), 'dart')[0]).toBe('final')
    expect(highlight(loaded, 'final\r\n<b>\r\n', 'dart', 0)).toEqual(['final', '&lt;b&gt;'])
  })
})

it.each([
  ['lib/a.dart', 'dart'],
  ['pubspec.lock', 'yaml'],
  ['android/build.gradle', 'groovy'],
  ['android/build.gradle.kts', 'kotlin'],
  ['ios/Podfile', 'ruby'],
  ['Dockerfile', 'docker'],
  ['ios/Info.plist', 'xml'],
  ['LICENSE', null],
  ['a.constructor', null],
])('recognizes the language of %s', (path, language) => {
  expect(languageOfFile(path)).toBe(language)
  expect(languageNamed('__proto__')).toBe(null)
})
