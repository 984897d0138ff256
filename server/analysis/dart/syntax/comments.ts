import { endOfBracket, tokenAt } from './tokens.ts'

export type Span = { start: number; end: number }

/** The doc comments and annotations before a declaration, and the position where the declaration begins. */
export type Lead = { docs: Span[]; annotations: Span[]; end: number }

/** Reads the comments and annotations at `from`. As in Dart, only the last doc comment before a declaration counts. */
export function leadAt(text: string, from: number): Lead {
  const lead: Lead = { docs: [], annotations: [], end: from }
  let docs: Span[] = []
  for (;;) {
    const token = tokenAt(text, lead.end)
    lead.end = token.end
    if (token.kind === 'comment') docs = withComment(text, docs, token)
    else if (text[token.start] === '@') {
      lead.end = endOfAnnotation(text, token.end)
      lead.annotations.push({ start: token.start, end: lead.end })
      if (docs.length > 0) lead.docs = docs
      docs = []
    } else return { ...lead, docs: docs.length > 0 ? docs : lead.docs, end: token.start }
  }
}

/** Adds a comment to a doc comment. Adjacent `///` lines form one comment, and a block comment is one of its own. */
function withComment(text: string, docs: Span[], comment: Span): Span[] {
  const isBlock = text.startsWith('/**', comment.start)
  if (!isBlock && !text.startsWith('///', comment.start)) return docs
  if (isBlock || text.startsWith('/**', docs[0]?.start ?? text.length)) return [comment]
  docs.push(comment)
  return docs
}

/** Returns the end of an annotation whose name begins at `from`. An argument list must follow the name immediately. */
function endOfAnnotation(text: string, from: number): number {
  name.lastIndex = from
  const end = name.test(text) ? name.lastIndex : from
  typeArguments.lastIndex = end
  const bracket = typeArguments.test(text) ? typeArguments.lastIndex : end
  return text[bracket] === '(' ? (endOfBracket(text, bracket) ?? end) : end
}

const name = /\s*[\w$]+(?:\s*\.\s*[\w$]+)*/y
const typeArguments = /<[\w$\s.,<>?]{0,1000}>/y

/** Converts a doc comment to Markdown. Returns null if it is missing or empty. */
export function markdownOf(text: string, docs: readonly Span[]): string | null {
  const lines = docs.flatMap(({ start, end }) =>
    text.startsWith('///', start) ? [text.slice(start + 3, end)] : starredLines(text.slice(start + 3, end)),
  )
  const markdown = lines
    .map((line) => line.replace(/^ /, '').trimEnd())
    .join('\n')
    .replace(/^\n+|\n+$/g, '')
  return markdown === '' ? null : markdown
}

const starredLines = (inside: string): string[] =>
  inside
    .replace(/\*\/$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\*/, ''))

/** Returns the message of `@Deprecated`, '' for `@deprecated`, and null without either annotation. */
export function deprecationOf(text: string, annotations: readonly Span[]): string | null {
  for (const { start, end } of annotations) {
    const annotation = text.slice(start, end)
    if (/^@\s*(?:\w+\s*\.\s*)?(?:deprecated$|Deprecated\s*\()/.test(annotation)) return messageIn(annotation)
  }
  return null
}

function messageIn(annotation: string): string {
  let message = ''
  for (let token = tokenAt(annotation, 0); token.kind !== 'end'; token = tokenAt(annotation, token.end)) {
    if (token.kind === 'string') message += contentOf(annotation.slice(token.start, token.end))
  }
  return message
}

/** Returns the contents of a string literal. Interpolations remain as written. */
export function contentOf(literal: string): string {
  const [, raw, , content = ''] = /^(r?)('''|"""|'|")(.*?)\2?$/s.exec(literal) ?? []
  return raw === 'r' ? content : content.replace(/\\(.)/gs, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
}
