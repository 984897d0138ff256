import { type Html, html } from './html.ts'

/** Returns the URL of the type with this name, or null if it has none. */
export type TypeAddress = (name: string) => string | null

/** Renders a signature with links to the types of the package. Long signatures have one parameter per line. */
export function renderSignature(signature: string, name: string, addressOf: TypeAddress): Html {
  const shown = layOut(signature.slice(0, maxShown), name.replace(/^operator\s*/, ''))
  const pieces: Html[] = []
  let at = 0
  for (const { 0: word, index } of shown.matchAll(words)) {
    if (!/^[A-Za-z_$]/.test(word)) continue
    const address = word === name ? null : addressOf(word)
    if (address === null && !isKeyword.has(word)) continue
    pieces.push(
      html`${shown.slice(at, index)}`,
      address === null ? html`<span class="k">${word}</span>` : html`<a href="${address}">${word}</a>`,
    )
    at = index + word.length
  }
  return html`<code>${pieces}${shown.slice(at)}${signature.length > maxShown ? '…' : null}</code>`
}

const maxShown = 20_000
const maxLine = 90

/** Matches strings, which are skipped, and names. */
const words = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[A-Za-z_$][\w$]*/g
const isKeyword = new Set(
  `abstract base class const covariant enum extends extension external factory final get implements interface late mixin on operator
  required sealed set static type typedef var with`.split(/\s+/),
)

/** Puts each parameter of a long signature on its own line. */
function layOut(signature: string, name: string): string {
  if (signature.length <= maxLine) return signature
  const start = Math.max(0, signature.indexOf(`${name}(`), signature.indexOf(`${name}<`))
  const open = openingOf(signature, start)
  const list = open < 0 ? null : parametersOf(signature, open + 1)
  if (!list || list.parameters.length < 2) return signature
  const { parameters, section, end } = list
  const first = parameters.findIndex(({ isInSection }) => isInSection)
  const lines = (some: Parameters['parameters']) => some.map(({ text }) => `\n  ${text}`).join(',')
  const head = signature.slice(0, open + 1)
  const tail = signature.slice(end)
  if (first < 0) return `${head}${lines(parameters)},\n${tail}`
  const required = first > 0 ? `${lines(parameters.slice(0, first))}, ` : ''
  return `${head}${required}${section}${lines(parameters.slice(first))},\n${section === '{' ? '}' : ']'}${tail}`
}

/** Returns the index of the parenthesis that opens the parameter list, after any type parameters; -1 if there is no list. */
function openingOf(text: string, start: number): number {
  for (let [at, depth] = [start, 0]; at < text.length; at++) {
    if (text[at] === '<') depth += 1
    else if (text[at] === '>') depth -= 1
    else if (text[at] === '(' && depth <= 0) return at
  }
  return -1
}

type Parameters = { parameters: { text: string; isInSection: boolean }[]; section: string; end: number }

/** Parses parameters up to the closing parenthesis. `section` opens the optional ones. Returns null if the list is not closed. */
function parametersOf(text: string, from: number): Parameters | null {
  const parameters: Parameters['parameters'] = []
  let [depth, section, piece] = [0, '', '']
  const add = () => {
    if (piece.trim()) parameters.push({ text: piece.trim(), isInSection: section !== '' })
    piece = ''
  }
  for (const { 0: part, index } of text.slice(from).matchAll(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|=>|[()[\]{}<>,]|[^()[\]{}<>,'"=]+|./gs)) {
    if (depth === 0 && part === ')') return (add(), { parameters, section, end: from + index })
    if (depth === 0 && !section && !piece.trim() && (part === '{' || part === '[')) section = part
    else if (depth === 0 && part === ',') add()
    else if (depth > 0 || !(section && (part === '}' || part === ']'))) {
      piece += part
      depth += '([{<'.includes(part) ? 1 : ')]}>'.includes(part) ? -1 : 0
    }
  }
  return null
}
