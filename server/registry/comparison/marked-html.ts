import escapeHtml from 'escape-html'

/** Wraps ranges of the text in `<mark>`. `html` is escaped text with well-formed tags; the ranges are in UTF-16 code units of its text, in order. */
export function markHtml(html: string, ranges: readonly (readonly [start: number, end: number])[]): string {
  if (ranges.length === 0) return html
  let [result, at, index, isOpen] = ['', 0, 0, false]
  for (const [token] of html.matchAll(/<[^>]*>|&[^;]{1,10};|[^<&]/gsu)) {
    if (token.startsWith('<')) {
      // A mark never spans a tag, so that the result is well-formed.
      if (isOpen) result += '</mark>'
      isOpen = false
      result += token
      continue
    }
    if (isOpen && at >= (ranges[index]?.[1] ?? 0)) {
      result += '</mark>'
      isOpen = false
    }
    while (at >= (ranges[index]?.[1] ?? Infinity)) index++
    if (!isOpen && at >= (ranges[index]?.[0] ?? Infinity)) {
      result += '<mark>'
      isOpen = true
    }
    result += token
    at += token.startsWith('&') ? 1 : token.length
  }
  return isOpen ? `${result}</mark>` : result
}

/** Returns a text as HTML with marked ranges. */
export const markText = (text: string, ranges: Parameters<typeof markHtml>[1]): string => markHtml(escapeHtml(text), ranges)
