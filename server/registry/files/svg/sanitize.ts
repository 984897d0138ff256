import escapeHtml from 'escape-html'
import { Parser } from 'htmlparser2'

/** Maximum depth of nested elements. Drawing programs nest a few dozen. */
const maxDepth = 256

/**
 * Removes everything from an SVG that runs, loads or links: scripts, event handlers, foreign content, references to other documents, and style rules
 * with URLs. References within the document and embedded raster images remain. Returns null if nothing can be shown.
 */
export function sanitizeSvg(source: string): string | null {
  const open: { name: string; isKept: boolean }[] = []
  const output: string[] = []
  let [skipped, style] = [0, '']
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        const isKept =
          skipped === 0 && elements.has(name) && open.length < maxDepth && (open.length > 0 || (name === 'svg' && output.length === 0))
        open.push({ name, isKept })
        if (!isKept) skipped++
        else output.push(`<${name}${textOf(name, attributes)}>`)
      },
      ontext(text) {
        if (skipped > 0 || open.length === 0) return
        if (open.at(-1)?.name === 'style') style += text
        else output.push(escapeHtml(text))
      },
      onclosetag() {
        const closed = open.pop()
        if (!closed?.isKept) return void skipped--
        if (closed.name === 'style') output.push(escapeHtml(isHarmlessStyle(style) ? style : ''))
        style = ''
        output.push(`</${closed.name}>`)
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  parser.end(source)
  return output.length > 0 ? output.join('') : null
}

const elements = new Set(
  `svg g defs symbol use title desc path rect circle ellipse line polyline polygon text tspan textPath image switch style a
  linearGradient radialGradient stop pattern clipPath mask marker view filter animate animateMotion animateTransform set mpath
  feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight feDropShadow feFlood
  feFuncA feFuncB feFuncG feFuncR feGaussianBlur feImage feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting feSpotLight
  feTile feTurbulence`.split(/\s+/),
)

function textOf(element: string, attributes: Record<string, string>): string {
  return Object.entries(attributes)
    .filter(([name, value]) => attributeName.test(name) && isHarmless(element, name.toLowerCase(), value))
    .map(([name, value]) => ` ${name}="${escapeHtml(value)}"`)
    .join('')
}

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
  if (local === 'attributename') return !/href|^\s*on/i.test(value)
  return name === 'style' ? isHarmlessStyle(value) : !refersOutside(value)
}

/** Returns whether a style can load nothing. CSS escapes and comments could hide a URL. */
const isHarmlessStyle = (css: string): boolean =>
  !/\\|@import|@font-face|image-set|expression|-moz-binding|behavior/i.test(css) && !refersOutside(css.replace(/\/\*[^]*?(?:\*\/|$)/g, ''))

const refersOutside = (value: string): boolean =>
  /javascript:/i.test(value) || [...value.matchAll(/url\s*\(\s*['"]?\s*(.?)/gi)].some(([, first]) => first !== '#')
