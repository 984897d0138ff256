import { describe, expect, it } from 'vitest'
import { sanitizeSvg } from '../../../server/registry/files/svg/sanitize.ts'

const svg = (content: string) => `<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100">${content}</svg>`
const levels = (count: number, level: (index: number) => string) => Array.from({ length: count }, (_, index) => level(index)).join('')
const rects = (count: number, attributes: string) => `<rect width="9" height="9" ${attributes}/>`.repeat(count)

describe('expensive pictures', () => {
  it.each([
    ['use', `<g id="u0"/>${levels(6, (i) => `<g id="u${i + 1}">${`<use href="#u${i}"/>`.repeat(10)}</g>`)}`],
    ['use with an encoded id', `<g id="u0"/>${levels(6, (i) => `<g id="u${i + 1}">${`<use xlink:href="#%75${i}"/>`.repeat(10)}</g>`)}`],
    ['a cycle', '<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>'],
    ['masks', levels(5, (i) => `<mask id="u${i}">${rects(10, `mask="url(#u${i - 1})"`)}</mask>`) + rects(1, 'mask="url(#u4)"')],
    [
      'clip paths in a style attribute',
      levels(5, (i) => `<clipPath id="u${i}">${rects(10, `style="clip-path: url( '#u${i - 1}' )"`)}</clipPath>`),
    ],
    ['patterns', levels(5, (i) => `<pattern id="u${i}">${rects(10, `fill="url(#u${i - 1}"`)}</pattern>`)],
    [
      'a style sheet',
      `<style>${levels(5, (i) => `.c${i} { mask: url(#u${i - 1}) }`)}</style>${levels(5, (i) => `<mask id="u${i}">${rects(10, `class="x c${i}"`)}</mask>`)}`,
    ],
    ['a nested rule', `<style>.a { b {} mask: url(#u) }</style><mask id="u">${rects(200, '')}</mask>${rects(200, '')}`],
    ['an animation', `<style>@keyframes k { to { mask: url(#u) } }</style><mask id="u">${rects(200, '')}</mask>${rects(200, '')}`],
    ['an element selector', `<style>g > rect:hover { mask: url(#u) }</style><mask id="u"><path d=""/></mask>${rects(1000, '')}`],
    ['markers', `<marker id="m">${rects(100, '')}</marker><path marker-mid="url(#m)" d="${'M1 1'.repeat(500)}"/>`],
    ['inherited markers', `<marker id="m">${rects(100, '')}</marker><g marker-mid="url(#m)"><path d="${'M1 1'.repeat(500)}"/></g>`],
    ['filters', `<filter id="f">${'<feMorphology radius="9"/>'.repeat(30)}</filter>${rects(30, 'filter="url(#f)"')}`],
  ])('shows no picture that is expensive to draw because of %s', (_what, content) => {
    expect(sanitizeSvg(svg(content))).toBeNull()
  })

  it('counts the pixels of filters', () => {
    const content = `<filter id="f">${'<feGaussianBlur stdDeviation="900"/>'.repeat(50)}</filter>${rects(1, 'filter="url(#f)"')}`
    expect(sanitizeSvg(svg(content))).not.toBeNull()
    expect(sanitizeSvg(`<svg width="4000" viewBox="0 0 100 4000">${content}</svg>`)).toBeNull()
  })

  it.each([
    'mask="inherit"',
    'fill="url(#\\61)"',
    'style="mask: inherit"',
    'style="--a: url(#b)"',
    'style="mask-image/**/:/**/var(--a)"',
    'radius="11"',
    'order="3 500"',
  ])('removes the attribute %s', (attribute) => {
    expect(sanitizeSvg(svg(`<rect ${attribute}/>`))).toBe(svg('<rect></rect>'))
  })

  it('removes animations to references, which are not counted', () => {
    expect(sanitizeSvg(svg('<animate attributeName="mask" values="none;url(#a)" to="url(#a)"/><set attributeName="class" to="a"/>'))).toBe(
      svg('<animate attributeName="mask"></animate><set to="a"></set>'),
    )
  })

  it.each([
    ['icons', `<defs><g id="a">${rects(20, '')}</g></defs>${'<use href="#a"/>'.repeat(500)}`],
    ['gradients of a style sheet', `<style>.a, path { fill: url(#g) }</style><linearGradient id="g"/>${rects(5000, 'class="a"')}`],
    ['shadows', `<filter id="s">${'<feOffset/>'.repeat(7)}</filter>${rects(50, 'filter="url(#s)"')}`],
    ['arrows', `<marker id="m"><path d="M0 0z"/></marker>${`<path marker-end="url(#m)" d="${'L1 1'.repeat(50)}"/>`.repeat(300)}`],
    ['clip paths', `<style>.c { clip-path: url(#p) }</style><clipPath id="p"><rect/></clipPath>${rects(400, 'class="c"')}`],
    ['many elements', rects(20_000, '')],
  ])('shows a picture with %s', (_what, content) => {
    expect(sanitizeSvg(svg(content))).not.toBeNull()
  })
})
