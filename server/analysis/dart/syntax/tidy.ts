import { leadAt } from './lead.ts'
import { plainTokenAt } from './tokens.ts'

/**
 * Formats code on one line: removes comments, annotations, redundant whitespace and trailing commas. Also removes leading words that are in
 * `without`.
 */
export function tidy(code: string, without: ReadonlySet<string> = new Set()): string {
  let line = ''
  let last = ''
  let leads = true
  for (let at = leadAt(code, 0).end; at < code.length;) {
    const { kind, start, end } = plainTokenAt(code, at)
    if (kind === 'end') break
    const token = code.slice(start, end)
    leads &&= kind === 'word'
    if (token === '@') at = leadAt(code, start).end
    else {
      at = end
      if (leads && without.has(token)) continue
      if (last === ',' && closes.test(token)) line = line.slice(0, -1)
      line += gap(last, token, start > 0 && /\s/.test(code.charAt(start - 1))) + token
      last = token
    }
  }
  return line.replace(/;$/, '').replace(operatorName, (name) => name.replace(/ /g, '').replace('operator', 'operator '))
}

const operatorName = /(?<![\w$])operator (?:[[\]=<>+\-*/%~&|^] ?)+(?=\()/

const closes = /^[)\]}>]$/

function gap(last: string, next: string, wasBlank: boolean): string {
  if (last === '' || opens.has(last) || sticksToLeft.has(next)) return ''
  if (last === ',' || spaced.has(last) || spaced.has(next)) return ' '
  return wasBlank ? ' ' : ''
}

const opens = new Set(['(', '[', '{', '<', '.', '@', '?.'])
const sticksToLeft = new Set([')', ']', '}', '>', ',', ';', '.', '?', '?.', ':'])
const spaced = new Set(['=', '=>', ':'])
