import escapeHtml from 'escape-html'
import type { Env as AnyEnv, MarkdownIt as Parser } from 'markdown-it'
import sanitizeHtml from 'sanitize-html'
import { placeholderMark } from './finish.ts'

/** A formula in TeX. `source` is its text in the document. Blocks are between paragraphs; displayed formulas have a line within one. */
export type Formula = { tex: string; source: string; kind: 'inline' | 'displayed' | 'block' }

// The MathML is inserted after the document was sanitized: browsers parse MathML within HTML in ways that sanitizers do not expect, so documents
// cannot contain any of their own. The author of a document cannot write this placeholder, because it contains a random number.
const nonce = crypto.randomUUID()
const formulaPlaceholder = new RegExp(`${placeholderMark}math-${nonce}-(\\d+)`, 'g')

/** Maximum length of a formula in characters. */
const maxTex = 5000
// Text often contains `$`: prices, names of variables, Dart interpolation. So a formula contains no other `$`, and has no letter or digit next to it.
const delimited: [Formula['kind'], RegExp][] = [
  ['displayed', new RegExp(String.raw`\$\$((?:[^$\\]|\\[^]){1,${maxTex}})\$\$(?!\$)`, 'y')],
  ['inline', new RegExp(String.raw`\$\x60([^\x60]{1,${maxTex}})\x60\$(?![\w$])`, 'y')],
  ['inline', new RegExp(String.raw`\$(?!\s)((?:[^$\x60\\]|\\[^]){1,${maxTex}})(?<!\s)\$(?![\w$\{])`, 'y')],
]

type Env = AnyEnv & { formulas?: Formula[] }

/**
 * Parses formulas as GitHub does: `$…$`, `` $`…`$ `` and `$$…$$` in text, and blocks within `$$` or in a fence named `math`. Collects them in
 * `formulas` of the environment. The search for the end of a formula stops at the next `$`, so that parsing takes linear time.
 */
export function math(parser: Parser): void {
  parser.inline.ruler.after('escape', 'formula', (state, silent) => {
    const { src, pos, posMax } = state
    const formula = src[pos] === '$' && !/[\w$]/.test(src[pos - 1] ?? '') ? formulaAt(src, pos) : null
    if (!formula || pos + formula.source.length > posMax) return false
    // Like code, formulas are part of the text of headings and of the descriptions of images.
    if (!silent) Object.assign(state.push('code_inline', 'code', 0), { content: formula.tex, meta: { formula } })
    state.pos += formula.source.length
    return true
  })
  mathBlocks(parser)
  const { rules } = parser.renderer
  const { fence, code_inline: code } = rules
  rules.fence = (tokens, index, options, env, self) => {
    const { info = '', content: tex = '' } = tokens[index] ?? {}
    return /^\s*math\s*$/.test(info)
      ? `${addFormula({ tex, source: tex, kind: 'block' }, env as Env)}\n`
      : (fence?.(tokens, index, options, env, self) ?? '')
  }
  rules.code_inline = (tokens, index, options, env, self) => {
    const { formula } = (tokens[index]?.meta ?? {}) as { formula?: Formula }
    return formula ? addFormula(formula, env as Env) : (code?.(tokens, index, options, env, self) ?? '')
  }
}

function formulaAt(text: string, position: number): Formula | null {
  for (const [kind, pattern] of delimited) {
    pattern.lastIndex = position
    const [source, tex] = pattern.exec(text) ?? []
    if (source !== undefined && tex?.trim()) return { tex, source, kind }
  }
  return null
}

/** Parses lines that start with `$$`, up to the line that ends with it. An empty line ends the search. */
function mathBlocks(parser: Parser): void {
  const interrupts = ['paragraph', 'reference', 'blockquote', 'list']
  const rule: Parameters<typeof parser.block.ruler.before>[2] = (state, start, end, silent) => {
    const indentAt = (line: number) => (state.sCount[line] ?? 0) - state.blkIndent
    const textAt = (line: number) => state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]).trimEnd()
    let text = textAt(start)
    if (!text.startsWith('$$') || indentAt(start) >= 4) return false
    let next = start + 1
    for (let isOpen = !text.includes('$$', 2); isOpen; next++) {
      if (next >= end || state.isEmpty(next) || indentAt(next) < 0) return false
      const line = textAt(next)
      text += `\n${line}`
      isOpen = !line.includes('$$')
    }
    const tex = text.slice(2, -2)
    if (!text.endsWith('$$') || tex.includes('$$') || !tex.trim()) return false
    if (silent) return true
    Object.assign(state.push('fence', 'code', 0), { content: tex.trim(), info: 'math', map: [start, next] })
    state.line = next
    return true
  }
  parser.block.ruler.before('fence', 'formula_block', rule, { alt: interrupts })
}

/** Adds a formula. Returns its placeholder. */
const addFormula = (formula: Formula, { formulas }: Env): string =>
  formulas ? `${placeholderMark}math-${nonce}-${formulas.push(formula) - 1}` : asCode(formula)

const asCode = ({ source, kind }: Formula): string =>
  kind === 'block' ? `<pre><code class="language-math">${escapeHtml(source)}</code></pre>` : `<code>${escapeHtml(source)}</code>`

/**
 * Replaces the placeholders in sanitized HTML by MathML. Shows formulas that are not valid as code, and those after the first 256 KiB of MathML:
 * this limits the work instead of the time, so that the same texts always have the same formulas.
 */
export async function insertFormulas(html: string, formulas: readonly Formula[]): Promise<string> {
  if (formulas.length === 0) return html
  // Most texts contain no formulas.
  const { default: katex } = await import('katex')
  let left = 256 * 1024
  return html.replaceAll(formulaPlaceholder, (_placeholder, index: string) => {
    const formula = formulas[Number(index)]
    if (!formula) return ''
    const made = left > 0 && formula.tex.length <= maxTex ? toMathML(formula, katex.renderToString) : null
    // A formula that is not valid costs about as much as others, and possibly many expansions of macros.
    left -= made?.length ?? 500 + 10 * formula.tex.length
    if (made === null) return asCode(formula)
    return formula.kind === 'inline' ? made : `<span class="math-block">${made}</span>`
  })
}

/** The color of commands that KaTeX does not support or that are not allowed. The name is not a color that a formula can choose. */
const errorColor = 'not-supported'
/** Maximum number of tokens that macros of a formula expand to. Built-in commands are macros, too, but they are short. */
const maxExpandedTokens = 20_000
const definesMacros = /\\(?:[egx]?def|let|futurelet|\w*command)(?![a-z])/i

/** Returns null for a formula that is not valid, too expensive, or too deeply nested. */
function toMathML({ tex, kind }: Formula, render: typeof import('katex').default.renderToString): string | null {
  const maxExpand = definesMacros.test(tex) ? Math.min(1000, Math.ceil(maxExpandedTokens / tex.length)) : 1000
  try {
    const displayMode = kind !== 'inline'
    const made = render(tex, { output: 'mathml', displayMode, trust: false, strict: 'ignore', maxExpand, maxSize: 20, errorColor })
    return made.includes(errorColor) ? null : sanitizeMathML(made)
  } catch {
    // Either a ParseError, or a RangeError because of the depth of its recursion.
    return null
  }
}

/** Maximum depth of the elements of a formula: browsers lay them out recursively. */
const maxDepth = 100

/** Sanitizes the output of KaTeX, and adapts it to MathML Core, which is what browsers implement. */
function sanitizeMathML(made: string): string | null {
  let [depth, deepest, variant] = [0, 0, '']
  const tables: { sides: string[]; column: number }[] = []
  const html = sanitizeHtml(made, {
    parser: { xmlMode: true },
    allowedTags,
    allowedAttributes,
    nonTextTags: ['annotation'],
    selfClosing: [],
    transformTags: {
      '*': (tagName, attribs) => {
        const { columnalign: sides = '', ...others } = attribs
        if (tagName === 'mtable') tables.push({ sides: sides.split(' '), column: 0 })
        const table = tables.at(-1)
        if (tagName === 'mtr' && table) table.column = 0
        // Columns with a class are around the equations, and have no alignment of their own.
        const side = tagName === 'mtd' && table && attribs.class === undefined ? table.sides[table.column++] : undefined
        const { mathvariant = '', ...plain } = others
        variant = Object.hasOwn(alphabets, mathvariant) ? mathvariant : ''
        const attributes = variant ? { ...plain, mathvariant: 'normal' } : others
        return { tagName, attribs: { ...attributes, ...(side && { columnalign: side }) } }
      },
    },
    textFilter: (text) => (variant ? text.replaceAll(/[A-Za-z\d]/g, (character) => inVariant(character, variant)) : text),
    onOpenTag: () => void (deepest = Math.max(deepest, ++depth)),
    onCloseTag(name) {
      depth--
      if (name === 'mtable') tables.pop()
    },
  })
  // Names of functions are upright.
  return deepest > maxDepth ? null : html.replaceAll(/<mi>(?=[^<]{2})/g, '<mi mathvariant="normal">')
}

const allowedTags =
  `math mrow mi mn mo mtext mspace mstyle mpadded mphantom menclose mfrac msqrt mroot msub msup msubsup munder mover munderover
  mtable mtr mtd`.split(/\s+/)
const allowedAttributes = {
  math: ['display'],
  mi: ['mathvariant'],
  mn: ['mathvariant'],
  mtext: ['mathvariant'],
  mo: 'accent fence largeop linebreak lspace mathvariant maxsize minsize rspace separator stretchy'.split(' '),
  mspace: ['width', 'height', 'mathbackground', 'linebreak'],
  mstyle: ['displaystyle', 'mathcolor', 'mathsize', 'scriptlevel'],
  mpadded: ['width', 'height', 'depth', 'lspace', 'voffset', 'mathbackground'],
  menclose: ['notation', 'mathbackground'],
  mfrac: ['linethickness'],
  mover: ['accent'],
  munder: ['accentunder'],
  munderover: ['accent', 'accentunder'],
  mtable: ['columnlines', 'columnspacing', 'displaystyle', 'rowlines', 'rowspacing', 'width'],
  mtd: ['columnalign', 'width'],
}

/**
 * First letter, and first digit, of the alphabets of Unicode. Browsers implement only the value `normal` of `mathvariant`. The style sheet of the
 * console covers the values that only change the font.
 */
const alphabets: Record<string, [letters: number, digits?: number]> = {
  script: [0x1d49c],
  fraktur: [0x1d504],
  'double-struck': [0x1d538, 0x1d7d8],
}
/** Letters that Unicode had before, by their code point in the alphabet. */
const earlier = new Map(
  Array.from('ℬℰℱℋℐℒℳℛℯℊℴℭℌℑℜℨℂℍℕℙℚℝℤ', (letter) => letter).map((letter, index) => [
    [
      0x1d49d, 0x1d4a0, 0x1d4a1, 0x1d4a3, 0x1d4a4, 0x1d4a7, 0x1d4a8, 0x1d4ad, 0x1d4ba, 0x1d4bc, 0x1d4c4, 0x1d506, 0x1d50b, 0x1d50c, 0x1d515,
      0x1d51d, 0x1d53a, 0x1d53f, 0x1d545, 0x1d547, 0x1d548, 0x1d549, 0x1d551,
    ][index],
    letter,
  ]),
)

function inVariant(character: string, variant: string): string {
  const [letters = 0, digits] = alphabets[variant] ?? []
  const code = character.charCodeAt(0)
  if (code < 0x3a) return digits === undefined ? character : String.fromCodePoint(digits + code - 0x30)
  const point = letters + (code < 0x5b ? code - 0x41 : code - 0x61 + 26)
  return earlier.get(point) ?? String.fromCodePoint(point)
}
