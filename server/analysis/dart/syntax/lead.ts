import { endOfBracket } from './nesting.ts'
import { tokenAt } from './tokens.ts'

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

/**
 * Adds a comment to a doc comment. Adjacent `///` lines form one comment. A `/**` comment replaces any earlier one, and is replaced by later ones.
 */
function withComment(text: string, docs: Span[], comment: Span): Span[] {
  if (text.startsWith('/**', comment.start)) return [comment]
  if (!text.startsWith('///', comment.start)) return docs
  if (text.startsWith('/**', docs[0]?.start ?? text.length)) return [comment]
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
