import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadSharp } from '../../platform/pictures/convert.ts'

const [width, height, margin] = [1200, 630, 80]

export type PreviewTexts = { registry: string; name: string; version: string; description: string }
type Color = readonly [number, number, number]
type Canvas = { pixels: Buffer; at: { x: number; y: number }; color: Color }

const colors = { background: [13, 71, 82], stripe: [240, 169, 59], strong: [255, 255, 255], soft: [190, 222, 228] } as const

/**
 * Draws the preview image of a package as a PNG, 1200×630 pixels. The glyphs come from a picture in this folder, because servers often have no fonts.
 * It has the printable ASCII characters; others are left out.
 */
export async function drawPreview({ registry, name, version, description }: PreviewTexts): Promise<Buffer> {
  const [large, small] = await Promise.all([fontOf('large'), fontOf('small')])
  const pixels = Buffer.alloc(width * height * 3, Buffer.from(colors.background))
  fill(pixels, colors.stripe)
  let y = margin
  const write = (font: Font, text: string, color: Color, lines: number) => {
    for (const line of wrap(font, plain(text), lines)) {
      drawLine({ pixels, at: { x: margin, y }, color }, font, line)
      y += font.height
    }
  }
  write(small, registry, colors.soft, 1)
  y += 60
  write(large, name, colors.strong, 2)
  y += 12
  write(small, version, colors.stripe, 1)
  y += 30
  write(small, description, colors.soft, 3)
  const sharp = await loadSharp()
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .png({ palette: true, compressionLevel: 9 })
    .toBuffer()
}

/** Fills a stripe at the bottom. */
function fill(pixels: Buffer, color: Color): void {
  pixels.fill(Buffer.from(color), width * (height - 16) * 3)
}

type Font = (typeof glyphs)['large'] & { alpha: Buffer; rowLength: number; starts: number[] }

const fonts = new Map<string, Promise<Font>>()

/** Reads the glyphs of a size: the characters from `!` to `~` in one row. */
function fontOf(size: 'large' | 'small'): Promise<Font> {
  const known = fonts.get(size) ?? readFont(size)
  fonts.set(size, known)
  return known
}

async function readFont(size: 'large' | 'small'): Promise<Font> {
  const folder = import.meta.dirname
  const shape = glyphs[size]
  const sharp = await loadSharp()
  const picture = sharp(readFileSync(join(folder, `glyphs-${size}.png`)))
    .extractChannel(0)
    .raw()
  const { data, info } = await picture.toBuffer({ resolveWithObject: true })
  let start = 0
  const starts = shape.advances.map((advance) => (start += advance + 2 * shape.pad) - advance - 2 * shape.pad)
  return { ...shape, alpha: data, rowLength: info.width, starts }
}

/** Reduces a text to the characters that can be drawn. */
const plain = (text: string): string =>
  text
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replace(/\s+/g, ' ')
    .replace(/[‘’]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/[^\x20-\x7e]/g, '')
    .slice(0, 300)
    .trim()

const advanceOf = ({ advances, space }: Font, character: string): number => advances[character.charCodeAt(0) - 33] ?? space
const lengthOf = (font: Font, text: string): number => Array.from(text).reduce((sum, character) => sum + advanceOf(font, character), 0)
const fits = (font: Font, text: string): boolean => lengthOf(font, text) <= width - 2 * margin

/** Splits a text into at most `limit` lines, at spaces and after underscores if possible. The last line ends with `...` if more follows. */
function wrap(font: Font, text: string, limit: number): string[] {
  const lines: string[] = []
  let rest = text
  while (rest !== '' && lines.length < limit) {
    let end = rest.length
    while (!fits(font, rest.slice(0, end))) end--
    const place = end < rest.length ? Math.max(rest.lastIndexOf(' ', end), rest.lastIndexOf('_', end - 1) + 1) : -1
    if (place > 0) end = place
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  const last = lines.at(-1)
  if (rest === '' || last === undefined) return lines
  let kept = last
  while (!fits(font, `${kept}...`)) kept = kept.slice(0, -1)
  return [...lines.slice(0, -1), `${kept}...`]
}

function drawLine({ pixels, at, color }: Canvas, font: Font, text: string): void {
  let { x } = at
  for (const character of text) {
    const start = font.starts[character.charCodeAt(0) - 33]
    if (start !== undefined) drawGlyph({ pixels, at: { x, y: at.y }, color }, font, { start, character })
    x += advanceOf(font, character)
  }
}

function drawGlyph({ pixels, at, color }: Canvas, font: Font, { start, character }: { start: number; character: string }): void {
  const glyphWidth = advanceOf(font, character) + 2 * font.pad
  for (let row = 0; row < font.height && at.y + row < height; row++) {
    for (let column = 0; column < glyphWidth; column++) {
      const cover = (font.alpha[row * font.rowLength + start + column] ?? 0) / 255
      if (cover > 0) blend(pixels, ((at.y + row) * width + at.x - font.pad + column) * 3, { color, cover })
    }
  }
}

function blend(pixels: Buffer, place: number, { color, cover }: { color: Color; cover: number }): void {
  for (const [channel, value] of color.entries())
    pixels[place + channel] = Math.round((pixels[place + channel] ?? 0) * (1 - cover) + value * cover)
}

/** Widths of the glyphs in glyphs-large.png and glyphs-small.png, from `!` to `~`, in pixels. `pad` is the space on each side of a glyph. */
const glyphs = {
  large: {
    pad: 4,
    space: 29,
    advances: [
      38, 44, 70, 58, 84, 73, 26, 38, 38, 44, 70, 32, 35, 32, 31, 58, 58, 58, 58, 58, 58, 58, 58, 58, 58, 34, 34, 70, 70, 70, 49, 84, 65,
      64, 62, 70, 57, 57, 69, 70, 31, 31, 65, 54, 84, 70, 71, 62, 71, 65, 60, 57, 68, 65, 93, 65, 61, 61, 38, 31, 38, 70, 42, 42, 57, 60,
      50, 60, 57, 37, 60, 60, 29, 29, 56, 29, 88, 60, 58, 60, 60, 41, 50, 40, 60, 55, 78, 54, 55, 49, 60, 31, 60, 70,
    ],
    height: 98,
  },
  small: {
    pad: 4,
    space: 11,
    advances: [
      14, 17, 30, 23, 34, 28, 10, 14, 14, 18, 30, 11, 13, 11, 12, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 12, 12, 30, 30, 30, 19, 36, 25,
      25, 25, 28, 23, 21, 28, 27, 11, 11, 24, 20, 31, 27, 28, 22, 28, 25, 23, 22, 26, 25, 36, 25, 22, 25, 14, 12, 14, 30, 18, 18, 22, 23,
      20, 23, 22, 13, 23, 23, 10, 10, 21, 10, 35, 23, 22, 23, 23, 15, 19, 14, 23, 21, 29, 21, 21, 19, 23, 12, 23, 30,
    ],
    height: 43,
  },
}
