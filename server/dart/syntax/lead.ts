import { endOfBracket } from './nesting.ts'
import { tokenAt } from './tokens.ts'

export type Span = { start: number; end: number }

/** What stands before a declaration, and where that itself begins. */
export type Lead = { docs: Span[]; annotations: Span[]; end: number }

/** The comments and annotations at `from`. A declaration's doc comment is the last one before it, as Dart has it. */
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

/** Lines with three slashes add up; a comment with two stars replaces what stood before it, and is replaced. */
function withComment(text: string, docs: Span[], comment: Span): Span[] {
  if (text.startsWith('/**', comment.start)) return [comment]
  if (!text.startsWith('///', comment.start)) return docs
  if (text.startsWith('/**', docs[0]?.start ?? text.length)) return [comment]
  docs.push(comment)
  return docs
}

/** Where an annotation ends whose name begins at `from`: only a bracket that follows at once belongs to it. */
function endOfAnnotation(text: string, from: number): number {
  name.lastIndex = from
  const end = name.test(text) ? name.lastIndex : from
  typeArguments.lastIndex = end
  const bracket = typeArguments.test(text) ? typeArguments.lastIndex : end
  return text[bracket] === '(' ? (endOfBracket(text, bracket) ?? end) : end
}

const name = /\s*[\w$]+(?:\s*\.\s*[\w$]+)*/y
const typeArguments = /<[\w$\s.,<>?]{0,1000}>/y
