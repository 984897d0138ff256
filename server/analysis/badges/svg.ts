import { text } from '../../registry/feeds/atom.ts'

export type Badge = { label: string; value: string; color: keyof typeof colors }

// Dark enough for white text (WCAG 2.2, 1.4.3). Badges have their own background, so they work on light and dark pages.
const colors = { blue: '#0b5cad', green: '#2c7a34', orange: '#a35200', gray: '#6a6a6a', red: '#b3261e' }

/** Renders a badge in the common style: a label and a value, 20 pixels high. */
export function renderBadge({ label, value, color }: Badge): string {
  const [left, right] = [widthOf(label), widthOf(value)]
  const [said, width] = [text(`${label}: ${value}`), left + right]
  const words = [textElement(label, left / 2, left), textElement(value, left + right / 2, right)].join('')
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="20" role="img" aria-label="${said}"><title>${said}</title><clipPath id="r"><rect width="${width}" height="20" rx="3"/></clipPath><g clip-path="url(#r)"><rect width="${left}" height="20" fill="#444"/><rect x="${left}" width="${right}" height="20" fill="${colors[color]}"/></g><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${words}</g></svg>\n`
}

const padding = 12

/** Renders a text stretched to the given width, so that the layout does not depend on the viewer's fonts. */
const textElement = (word: string, middle: number, width: number): string =>
  `<text x="${middle}" y="14" textLength="${width - padding}" lengthAdjust="spacingAndGlyphs">${text(word)}</text>`

const widths: [RegExp, number][] = [
  [/[ijlI.,:;'|!]/, 3.6],
  [/[frt()[\]\-" ]/, 4.6],
  [/[mwMW%@]/, 10.2],
  [/[A-Z]/, 7.8],
]

/** Estimates the width of a text in Verdana, in pixels, including padding. */
const widthOf = (word: string): number =>
  Math.round(Array.from(word).reduce((sum, letter) => sum + (widths.find(([letters]) => letters.test(letter))?.[1] ?? 6.9), 0)) + padding
