import { describe, expect, it } from 'vitest'
import { renderDocument } from '../../../server/registry/markdown/render.ts'

const render = async (source: string) => (await renderDocument(source, (target) => target, null)).trim()
const mathml = (content: string) => `<math><mrow>${content}</mrow></math>`
const block = (content: string) => `<span class="math-block"><math display="block"><mrow>${content}</mrow></math></span>`
const x = '<mi>x</mi>'

describe('formulas', () => {
  it.each([
    ['a $x$ b', `<p>a ${mathml(x)} b</p>`],
    ['($x$), $x$.', `<p>(${mathml(x)}), ${mathml(x)}.</p>`],
    ['*$a_b$* $c_d$', `<p><em>${mathml(sub('a', 'b'))}</em> ${mathml(sub('c', 'd'))}</p>`],
    ['$`a_b`$', `<p>${mathml(sub('a', 'b'))}</p>`],
    ['$\\text{a \\$ b}$', `<p>${mathml('<mtext>a\u{a0}$\u{a0}b</mtext>')}</p>`],
    ['a $$x$$ b', `<p>a ${block(x)} b</p>`],
    ['$$x$$', block(x)],
    ['a\n$$\nx\n$$\nb', `<p>a</p>\n${block(x)}\n<p>b</p>`],
    ['> $$\n> x\n> $$', `<blockquote>\n${block(x)}\n</blockquote>`],
    ['- $$\n  x\n  $$', `<ul>\n<li>\n${block(x)}\n</li>\n</ul>`],
    ['```math\nx\n```', block(x)],
    [
      '# The $x$',
      `<div class="heading"><h1 id="doc-the-x">The ${mathml(x)}</h1><a class="heading-link" href="#doc-the-x" aria-label="Permalink: The x">#</a></div>`,
    ],
    ['$\\sin x$', `<p>${mathml(`<mi mathvariant="normal">sin</mi><mo>\u{2061}</mo>${x}`)}</p>`],
    [
      '$\\mathbb{R}\\mathcal{L}\\mathbf{a}$',
      `<p>${mathml('<mi mathvariant="normal">ℝ</mi><mi mathvariant="normal">ℒ</mi><mi mathvariant="bold">a</mi>')}</p>`,
    ],
  ])('are rendered in %s', async (source, html) => {
    expect(await render(source)).toBe(html)
  })

  it.each([
    ['costs $5 and $10', '<p>costs $5 and $10</p>'],
    ['US$5-$10, $5-$10', '<p>US$5-$10, $5-$10</p>'],
    ['$x $ and $ x$', '<p>$x $ and $ x$</p>'],
    ['$x$1 a$x$', '<p>$x$1 a$x$</p>'],
    ['$HOME/bin:$PATH', '<p>$HOME/bin:$PATH</p>'],
    ['${a}-${b} ${a}${b}', '<p>${a}-${b} ${a}${b}</p>'],
    ['\\$x$ $x\\$', '<p>$x$ $x$</p>'],
    ['`$x$` $a `b$`', '<p><code>$x$</code> $a <code>b$</code></p>'],
    ['$$x $$$ $$ $', '<p>$$x $$$ $$ $</p>'],
    ['$$\nx\n\ny\n$$', '<p>$$\nx</p>\n<p>y\n$$</p>'],
    ['```\n$x$\n```', '<div class="code-block"><pre><code>$x$\n</code></pre></div>'],
    ['<p title="$x$">$a</p>', '<p title="$x$">$a</p>'],
    ['![a $x$ b](a.png)', '<p><img src="a.png" alt="a x b" loading="lazy" decoding="async" /></p>'],
  ])('are not found in %s', async (source, html) => {
    expect(await render(source)).toBe(html)
  })

  it('have columns with an alignment', async () => {
    const html = await render('$$\n\\begin{align}a&=b\\end{align}\n$$')
    expect(html.match(/<mtd[^>]*>/g)).toEqual(['<mtd>', '<mtd columnalign="right">', '<mtd columnalign="left">', '<mtd>', '<mtd>'])
  })

  it('have a host next to a link whose formula names another one', async () => {
    expect(await render('[$\\text{https://pub.dev}$](https://evil.example)')).toContain('<small class="link-host">(evil.example)</small>')
  })
})

describe('formulas that are not valid or not allowed', () => {
  it.each([
    ['$\\frac$', '<p><code>$\\frac$</code></p>'],
    ['a $$\\unknown$$', '<p>a <code>$$\\unknown$$</code></p>'],
    ['$$\n\\frac{<b>\n$$', '<div class="code-block"><pre><code class="language-math">\\frac{&lt;b&gt;</code></pre></div>'],
    ['$\\href{javascript:alert(1)}{x}$', '<p><code>$\\href{javascript:alert(1)}{x}$</code></p>'],
    ['$\\url{https://x.example}$', '<p><code>$\\url{https://x.example}$</code></p>'],
    ['$\\includegraphics{https://x.example/a.png}$', '<p><code>$\\includegraphics{https://x.example/a.png}$</code></p>'],
    ['$\\htmlStyle{position:fixed}{x}$', '<p><code>$\\htmlStyle{position:fixed}{x}$</code></p>'],
    ['$\\htmlId{a}{x}$', '<p><code>$\\htmlId{a}{x}$</code></p>'],
  ])('are code: %s', async (source, html) => {
    expect(await render(source)).toBe(html)
  })

  it('keep neither scripts, styles, links nor classes', async () => {
    const html = await render('$\\text{<img src=x onerror=alert(1)>} \\pmb{x} \\fcolorbox{red}{blue}{y} \\color{red} z$')
    expect(html).toContain('<mtext>&lt;img\u{a0}src=x\u{a0}onerror=alert(1)&gt;</mtext>')
    expect(html).not.toMatch(/<(?!\/?(p|m\w+)[ >])| style=| class=|href|xmlns/)
  })

  it('cannot be written as MathML, or as the placeholder of a formula', async () => {
    expect(await render('<math><mtext><mglyph><style><img src=x></style></mglyph></mtext></math>')).toBe('<p></p>')
    expect(await render('$x$ \u{FDD0}math-0')).toBe(`<p>${mathml(x)} math-0</p>`)
  })
})

const formula = (text: string) => `$${text}$ `
const deep = (open: string, close: string, depth: number) => `${open.repeat(depth)}x${close.repeat(depth)}`
describe('hostile formulas', () => {
  it.each([
    ['recursive macros', formula('\\def\\a{\\a\\a}\\a').repeat(1000)],
    [
      'macros that grow',
      formula('\\def\\a{xxxx}\\def\\b{\\a\\a\\a\\a}\\def\\c{\\b\\b\\b\\b}\\def\\d{\\c\\c\\c\\c}\\d\\d\\d\\d\\d\\d').repeat(500),
    ],
    ['a long macro', formula(`\\def\\a{${'x'.repeat(2400)}}${'\\a'.repeat(1200)}`).repeat(100)],
    ['nested fractions', formula(deep('\\frac{', '}{y}', 450)).repeat(100)],
    ['nested roots', formula(deep('\\sqrt{', '}', 700)).repeat(100)],
    ['nested fences', formula(deep('\\left(', '\\right)', 300)).repeat(100)],
    ['errors', formula('\\frac'.repeat(900)).repeat(100)],
    ['a formula without an end', `$${'x'.repeat(500_000)}`],
    ['a block without an end', '$$\n'.concat('x\n'.repeat(100_000))],
    ['openings in each line', '$$x\n'.repeat(20_000)],
    ['openings in each word', '$x '.repeat(100_000)],
  ])('with %s are limited', async (_name, source) => {
    const before = process.cpuUsage()
    const html = await render(source)
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(4000)
    expect(html.length).toBeLessThan(4 * source.length + 1024 * 1024)
  })

  it('are code after 256 KiB of MathML, always at the same place', async () => {
    const source = '$x$ '.repeat(20_000)
    const html = await render(source)
    expect(html.match(/<math>/g)).toHaveLength(7282)
    expect(html.match(/<code>\$x\$<\/code>/g)).toHaveLength(20_000 - 7282)
    expect(await render(source)).toBe(html)
  })
})

function sub(base: string, index: string): string {
  return `<msub><mi>${base}</mi><mi>${index}</mi></msub>`
}
