import type { Span } from './lead.ts'
import { tokenAt } from './tokens.ts'

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
