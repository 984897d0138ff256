import escapeHtml from 'escape-html'
import { Parser } from 'htmlparser2'
import { type Drawn, drawnElement, isCheap } from './cost.ts'

/** Maximum depth of nested elements. Drawing programs nest a few dozen. */
const maxDepth = 256

/**
 * Removes everything from an SVG that runs, loads or links: scripts, event handlers, foreign content, references to other documents, and style rules
 * with URLs. References within the document and embedded raster images remain. Returns null if nothing can be shown, or if drawing it would take a
 * browser too long.
 */
export function sanitizeSvg(source: string): string | null {
  const open: { name: string; drawn: Drawn | null }[] = []
  const output: string[] = []
  const styles: string[] = []
  let root: Drawn | undefined
  let [skipped, style] = [0, '']
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        const isKept =
          skipped === 0 && elements.has(name) && open.length < maxDepth && (open.length > 0 || (name === 'svg' && output.length === 0))
        const kept = isKept ? harmlessAttributes(name, attributes) : {}
        const drawn = isKept ? drawnElement(name, kept) : null
        if (drawn) open.at(-1)?.drawn?.children.push(drawn)
        root ??= drawn ?? undefined
        open.push({ name, drawn })
        if (!isKept) skipped++
        else output.push(`<${name}${textOf(kept)}>`)
      },
      ontext(text) {
        if (skipped > 0 || open.length === 0) return
        if (open.at(-1)?.name === 'style') style += text
        else output.push(escapeHtml(text))
      },
      onclosetag() {
        const closed = open.pop()
        if (!closed?.drawn) return void skipped--
        if (closed.name === 'style' && isHarmlessStyle(style)) {
          styles.push(style)
          output.push(escapeHtml(style))
        }
        style = ''
        output.push(`</${closed.name}>`)
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  parser.end(source)
  return root && isCheap(root, styles) ? output.join('') : null
}

const elements = new Set(
  `svg g defs symbol use title desc path rect circle ellipse line polyline polygon text tspan textPath image switch style a
  linearGradient radialGradient stop pattern clipPath mask marker view filter animate animateMotion animateTransform set mpath
  feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight feDropShadow feFlood
  feFuncA feFuncB feFuncG feFuncR feGaussianBlur feImage feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting feSpotLight
  feTile feTurbulence`.split(/\s+/),
)

const harmlessAttributes = (element: string, attributes: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(attributes).filter(([name, value]) => attributeName.test(name) && isHarmless(element, name.toLowerCase(), value)),
  )

const textOf = (attributes: Record<string, string>): string =>
  Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${escapeHtml(value)}"`)
    .join('')

const attributeName = /^(?:(?:xlink|xml|xmlns):)?[a-z][\w-]*$/i
const ownReference = /^\s*#/
const embeddedImage = /^\s*data:image\/(?:png|jpe?g|gif|webp);base64,[\w+/=\s]*$/i
const namespace = /^http:\/\/www\.w3\.org\/(?:2000\/svg|1999\/xlink|XML\/1998\/namespace)$/

function isHarmless(element: string, name: string, value: string): boolean {
  const local = name.replace(/^.*:/, '')
  if (local.startsWith('on') || local === 'base') return false
  if (name === 'xmlns' || name.startsWith('xmlns:')) return namespace.test(value)
  if (local === 'href' || local === 'src') return ownReference.test(value) || (element === 'image' && embeddedImage.test(value))
  // An animation could set a reference after the check.
  if (local === 'attributename') return !/href|^\s*(?:on|id|class)/i.test(value)
  if (['to', 'from', 'by', 'values'].includes(local) && /url\s*\(/i.test(value)) return false
  if (inheritable.test(name) && /inherit/i.test(value)) return false
  if (/^(?:radius|order)$/.test(local) && value.split(/[\s,]+/).some((size) => Number(size) > maxRadius)) return false
  return name === 'style' ? isHarmlessStyle(value) : !refersOutside(value) && !/\\[^]*url|url[^]*\\/i.test(value)
}

/** Largest radius of `feMorphology` and order of `feConvolveMatrix`, with which their time grows. */
const maxRadius = 10

/** Properties that can refer to elements. If they were inherited, more elements would refer to them than isCheap counts. */
const inheritable = /^(?:all|mask|clip-path|filter)$/

/** Returns whether a style can load nothing, and has only references that isCheap finds. CSS escapes and comments could hide a URL. */
function isHarmlessStyle(css: string): boolean {
  const plain = css.replace(/\/\*[^]*?(?:\*\/|$)/g, '')
  return (
    !/\\|@import|@font-face|image-set|expression|-moz-binding|behavior/i.test(css) &&
    !/--[\w-]+\s*:[^;{}]*url\s*\(|(?:all|mask[\w-]*|clip-path|filter)\s*:\s*(?:inherit|var)/i.test(plain) &&
    !refersOutside(plain)
  )
}

const refersOutside = (value: string): boolean =>
  /javascript:/i.test(value) || [...value.matchAll(/url\s*\(\s*['"]?\s*(.?)/gi)].some(([, first]) => first !== '#')
