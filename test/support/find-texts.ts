/** Size of the indexed words and distance between the compared positions, in bytes. */
const [width, step] = [4, 8]

/**
 * Returns the texts that occur in a buffer as UTF-8. Searches for all of them in one pass, because separate searches took a third of the time of
 * tests with a thousand secrets.
 */
export function findTexts(bytes: Buffer, texts: Iterable<string>): Set<string> {
  const found = new Set<string>()
  const known = new Map<number, { text: string; form: Buffer; offset: number }[]>()
  slots.fill(0)
  for (const text of texts) {
    const form = Buffer.from(text)
    if (form.length < width + step - 1) {
      if (bytes.includes(form)) found.add(text)
      continue
    }
    // Compared positions are `step` bytes apart, so one of them is at one of these offsets in any occurrence of the text.
    for (let offset = 0; offset < step; offset++) {
      const word = form.readInt32BE(offset)
      slots[slotOf(word)] = 1
      known.set(word, [...(known.get(word) ?? []), { text, form, offset }])
    }
  }
  for (let at = 0; at + width <= bytes.length; at += step) {
    const word = bytes.readInt32BE(at)
    if (slots[slotOf(word)] === 0) continue // skips the map lookup for most positions
    for (const { text, form, offset } of known.get(word) ?? []) if (stands(bytes, at - offset, form)) found.add(text)
  }
  return found
}

const slotBits = 18
const slots = new Uint8Array(1 << slotBits)
const slotOf = (word: number): number => Math.imul(word, 0x9e3779b1) >>> (32 - slotBits)

const stands = (bytes: Buffer, at: number, form: Buffer): boolean =>
  at >= 0 && at + form.length <= bytes.length && bytes.compare(form, 0, form.length, at, at + form.length) === 0
