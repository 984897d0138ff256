import escapeHtml from 'escape-html'

/** Trusted HTML. All other values are escaped when they are inserted into a page. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | null | Html | readonly Html[]

/** Template tag that creates HTML. Escapes the inserted values, except `Html` values. Null inserts nothing. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  const around = compact(strings)
  let text = around[0] ?? ''
  for (const [index, part] of parts.entries()) text += textOf(part) + (around[index + 1] ?? '')
  return new Html(text)
}

/** Removes the indentation of the template source. */
function compact(strings: TemplateStringsArray): readonly string[] {
  const known = compacted.get(strings)
  if (known) return known
  const made = strings.map((text) => text.replace(/\s*\n\s*/g, '\n').replace(/\s+>/g, '>'))
  compacted.set(strings, made)
  return made
}

const compacted = new WeakMap<TemplateStringsArray, readonly string[]>()

/** Empty HTML. */
export const nothing = new Html('')

/** Joins HTML pieces with a separator. */
export const join = (pieces: readonly Html[], between: string): Html => new Html(pieces.map(({ text }) => text).join(between))

function textOf(part: Part): string {
  if (part === null) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(({ text }) => text).join('')
  return escapeHtml(String(part))
}

/** Orders names, ignoring case. */
export function compareNames(a: string, b: string): number {
  const [first, second] = [a.toLowerCase(), b.toLowerCase()]
  return first < second ? -1 : Number(first > second)
}
