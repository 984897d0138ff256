/** An element of an SVG, with the references of its attributes. */
export type Drawn = {
  name: string
  id: string | undefined
  classes: string[]
  references: Reference[]
  /** Upper limit of the vertices of a path. */
  vertices: number
  /** Width × height of an `svg` element, in millions; otherwise 1. */
  megapixels: number
  children: Drawn[]
}

/** A reference to an element that is drawn too: once, or at every vertex of a path. */
type Reference = { id: string; isPerVertex: boolean }

/** Elements that may be drawn because of references. With 100,000 of them, a browser does not respond for ten seconds. */
const maxRepeated = 20_000
/** Cost of a mask, clip path, pattern or filter in addition to its elements, because it needs a surface of its own. */
const surfaceCost = 30
/** Cost of a step of a filter on a picture of a megapixel, or less. */
const stepCost = 50

const surfaces = new Set(['mask', 'clipPath', 'pattern', 'filter'])
const gradients = new Set(['linearGradient', 'radialGradient'])
const shapes = new Set(['path', 'polyline', 'polygon', 'line'])
/** Elements whose `href` names an element that is not drawn again. */
const withoutDrawing = new Set(['a', 'mpath', 'textPath', 'animate', 'animateMotion', 'animateTransform', 'set', ...gradients])

/** Returns what an element draws according to its attributes. */
export function drawnElement(name: string, attributes: Record<string, string>): Drawn {
  const references = Object.entries(attributes).flatMap(([attribute, value]) => {
    const isHref = /^(?:.*:)?href$/.test(attribute)
    if (isHref && !withoutDrawing.has(name)) return [{ id: idOf(value.trim().replace(/^#/, '')), isPerVertex: false }]
    return isHref ? [] : referencesIn(`${attribute}:${value}`)
  })
  const vertices = Math.ceil(((attributes.d ?? '').length + (attributes.points ?? '').length) / 2)
  const classes = (attributes.class ?? '').split(/\s+/)
  return { name, id: attributes.id, classes, references, vertices, megapixels: megapixelsOf(attributes), children: [] }
}

function megapixelsOf({ width = '', height = '', viewBox = '' }: Record<string, string>): number {
  const [, , boxWidth = '', boxHeight = ''] = viewBox.trim().split(/[\s,]+/)
  const larger = (...sizes: string[]) => Math.max(...sizes.map((size) => Number.parseFloat(size) || 0))
  return Math.max(1, (larger(width, boxWidth) * larger(height, boxHeight)) / 1_000_000)
}

const referencesIn = (css: string): Reference[] =>
  Array.from(css.matchAll(/url\s*\(\s*['"]?\s*#([^'")]*)/gi), ([, id = '']) => ({
    id: idOf(id.trim()),
    isPerVertex: /\bmarker(?:-mid)?\s*:/i.test(css),
  }))

/** Browsers decode the fragment of a URL. */
function idOf(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

/**
 * Returns whether an SVG takes a browser little time. Elements that refer to others, which refer to others, multiply: a kilobyte can stand for
 * millions of elements. Elements that refer to themselves are not drawn, so they count as expensive.
 */
export function isCheap(root: Drawn, styles: readonly string[]): boolean {
  const all = elementsOf(root)
  const rules = rulesOf(styles)
  const byId = new Map(all.toReversed().map((element) => [element.id, element]))
  const vertices = all.reduce((sum, element) => sum + element.vertices, 0)
  const costs = new Map<Drawn, number>()
  const ownCost = ({ name }: Drawn): number => (name.startsWith('fe') ? stepCost * root.megapixels : 1)
  const repeated = ({ id, isPerVertex }: Reference, element: Drawn): number => {
    const target = byId.get(id)
    if (!target || gradients.has(target.name)) return 0
    const times = isPerVertex ? (shapes.has(element.name) ? element.vertices : vertices) : 1
    return times * (costOf(target) + (surfaces.has(target.name) ? surfaceCost : 0))
  }
  function costOf(element: Drawn): number {
    const known = costs.get(element)
    if (known !== undefined) return known
    costs.set(element, Infinity)
    const references = [...element.references, ...rules.flatMap((rule) => (rule.matches(element) ? rule.references : []))]
    const inside = element.children.reduce((sum, child) => sum + costOf(child), ownCost(element))
    const cost = references.reduce((sum, reference) => sum + repeated(reference, element), inside)
    costs.set(element, cost)
    return cost
  }
  return costOf(root) - all.reduce((sum, element) => sum + ownCost(element), 0) <= maxRepeated
}

const elementsOf = (element: Drawn): Drawn[] => [element, ...element.children.flatMap(elementsOf)]

type Rule = { references: Reference[]; matches: (element: Drawn) => boolean }

/** Returns the rules with references. The last part of a selector decides, so that a rule may match too many elements, but none too few. */
const rulesOf = (styles: readonly string[]): Rule[] =>
  styles.flatMap((css) => {
    const plain = css.replace(/\/\*[^]*?(?:\*\/|$)/g, '')
    const rules = Array.from(plain.matchAll(/([^{}]*)\{([^{}]*)/g), ([, selectors = '', declarations = '']) => ({
      references: referencesIn(declarations),
      matches: matcherOf(selectors),
    })).filter(({ references }) => references.length > 0)
    const all = referencesIn(plain)
    // The pattern misses declarations after a nested rule. If a reference was missed, all references count for every element.
    const isComplete = rules.reduce((sum, { references }) => sum + references.length, 0) === all.length
    return isComplete ? rules : [{ references: all, matches: () => true }]
  })

function matcherOf(selectors: string): Rule['matches'] {
  const matchers = selectors.split(',').map((selector): Rule['matches'] => {
    const [, name, kind, value] = /(?:^|[\s>+~])([a-z]+)?(?:([.#])([\w-]+))?\s*$/i.exec(selector.trim()) ?? []
    if (kind === '.') return ({ classes }) => classes.includes(value ?? '')
    if (kind === '#') return ({ id }) => id === value
    // Steps of animations look like elements.
    if (name !== undefined && !/^(?:from|to)$/i.test(name)) return (element) => element.name === name
    return () => true
  })
  return (element) => matchers.some((matches) => matches(element))
}
