/** Counts lines, from 1; quick for places asked in their order. */
export function lineCounter(text: string): (at: number) => number {
  let line = 1
  let next = 0
  return (at) => {
    if (at < next) [line, next] = [1, 0]
    for (let end = text.indexOf('\n', next); end !== -1 && end < at; end = text.indexOf('\n', next)) {
      line += 1
      next = end + 1
    }
    return line
  }
}
