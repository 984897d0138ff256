/** Returns a function that converts an offset to a line number, starting at 1. Fast for ascending offsets. */
export function lineCounter(text: string): (at: number) => number {
  const endFrom = (from: number) => {
    const end = text.indexOf('\n', from)
    return end === -1 ? text.length : end
  }
  let line = 1
  let from = 0
  let end = endFrom(0)
  return (at) => {
    if (at < from) [line, from, end] = [1, 0, endFrom(0)]
    for (; end < at; end = endFrom(from)) {
      line += 1
      from = end + 1
    }
    return line
  }
}
