import escapeHtml from 'escape-html'

/** Text that is HTML already. Everything else is escaped where it meets a page. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | null | Html | readonly Html[]

/** A piece of a page: what is put in is escaped, unless it is such a piece itself. Null puts nothing. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  const around = compact(strings)
  let text = around[0] ?? ''
  for (const [index, part] of parts.entries()) text += textOf(part) + (around[index + 1] ?? '')
  return new Html(text)
}

/** Sources are indented for those who read them; pages are not. */
function compact(strings: TemplateStringsArray): readonly string[] {
  const known = compacted.get(strings)
  if (known) return known
  const made = strings.map((text) => text.replace(/\s*\n\s*/g, '\n').replace(/\s+>/g, '>'))
  compacted.set(strings, made)
  return made
}

const compacted = new WeakMap<TemplateStringsArray, readonly string[]>()

/** Nothing, where a piece is needed. */
export const nothing = new Html('')

/** Pieces with something between them. */
export const join = (pieces: readonly Html[], between: string): Html => new Html(pieces.map(({ text }) => text).join(between))

function textOf(part: Part): string {
  if (part === null) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(({ text }) => text).join('')
  return escapeHtml(String(part))
}
