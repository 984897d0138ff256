import sharp from 'sharp'
import type { DemoPackage } from './catalog.ts'
import { createRandom, type Random, seedOf } from './random.ts'

const width = 960
const height = 600

/** Draws the screenshot of a package: two phones with a made-up interface, as PNG. Contains no text, because a server may have no fonts. */
export async function drawScreenshot({ name, weight }: DemoPackage): Promise<Buffer> {
  const random = createRandom(seedOf(name) + weight)
  const hue = random.between(0, 359)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
<defs><linearGradient id="back" x1="0" y1="0" x2="1" y2="1"><stop offset="0" stop-color="${hsl(hue, 60, 88)}"/><stop offset="1" stop-color="${hsl(hue + 40, 60, 78)}"/></linearGradient></defs>
<rect width="${width}" height="${height}" fill="url(#back)"/>
${phone(180, hue, false, random)}${phone(540, hue, true, random)}</svg>`
  return sharp(Buffer.from(svg)).png({ palette: true, colours: 64, compressionLevel: 9 }).toBuffer()
}

/** Draws a phone whose left edge is at `left`. */
function phone(left: number, hue: number, isDark: boolean, random: Random): string {
  const [screen, card, line] = isDark
    ? [hsl(hue, 25, 13), hsl(hue, 20, 20), hsl(hue, 12, 42)]
    : ['#ffffff', hsl(hue, 40, 96), hsl(hue, 14, 78)]
  const rows = Array.from({ length: 5 }, (_, row) => {
    const top = 170 + row * 74
    return `<rect x="${left + 22}" y="${top}" width="196" height="60" rx="12" fill="${card}"/>
<circle cx="${left + 50}" cy="${top + 30}" r="16" fill="${hsl(hue + row * 24, 62, isDark ? 58 : 50)}"/>
<rect x="${left + 78}" y="${top + 16}" width="${random.between(60, 120)}" height="10" rx="5" fill="${line}"/>
<rect x="${left + 78}" y="${top + 36}" width="${random.between(40, 90)}" height="8" rx="4" fill="${line}" opacity="0.6"/>`
  })
  return `<rect x="${left - 6}" y="34" width="252" height="552" rx="38" fill="#16191d"/>
<rect x="${left}" y="40" width="240" height="540" rx="32" fill="${screen}"/>
<rect x="${left + 22}" y="72" width="120" height="16" rx="8" fill="${line}"/>
<rect x="${left + 22}" y="104" width="196" height="48" rx="14" fill="${hsl(hue, 66, isDark ? 52 : 44)}"/>
${rows.join('\n')}`
}

const hsl = (hue: number, saturation: number, lightness: number): string => `hsl(${hue % 360},${saturation}%,${lightness}%)`
