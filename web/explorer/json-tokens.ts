/** A piece of JSON text with the class of its color. */
interface Token {
  text: string
  look: string
}

/** Longer texts are not highlighted: each token is an element of the page. */
const maxCharacters = 200_000

const pattern = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g

/** Splits JSON text into property names, strings, other values, and what is between them. */
export function jsonTokens(text: string): Token[] {
  if (text.length > maxCharacters) return [{ text, look: '' }]
  const tokens: Token[] = []
  let end = 0
  for (const match of text.matchAll(pattern)) {
    const [all, string, colon] = match
    const value = string ?? all
    const look = string === undefined ? 'hl-n' : colon === undefined ? 'hl-s' : 'hl-g'
    tokens.push({ text: text.slice(end, match.index), look: '' }, { text: value, look })
    end = match.index + value.length
  }
  return [...tokens, { text: text.slice(end), look: '' }].filter((token) => token.text !== '')
}
