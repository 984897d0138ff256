/** How many bytes are compared at first, and how far apart the places are where that is done. */
const [width, step] = [4, 8]

/**
 * Which of many texts stand in these bytes, as UTF-8, in one pass however many they are: looking for each by itself took a third of the time of
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
    // Wherever the text stands, one of the places that are looked at is this far from its beginning.
    for (let offset = 0; offset < step; offset++) {
      const word = form.readInt32BE(offset)
      slots[slotOf(word)] = 1
      known.set(word, [...(known.get(word) ?? []), { text, form, offset }])
    }
  }
  for (let at = 0; at + width <= bytes.length; at += step) {
    const word = bytes.readInt32BE(at)
    if (slots[slotOf(word)] === 0) continue // most end here, without a look-up
    for (const { text, form, offset } of known.get(word) ?? []) if (stands(bytes, at - offset, form)) found.add(text)
  }
  return found
}

const slotBits = 18
const slots = new Uint8Array(1 << slotBits)
const slotOf = (word: number): number => Math.imul(word, 0x9e3779b1) >>> (32 - slotBits)

const stands = (bytes: Buffer, at: number, form: Buffer): boolean =>
  at >= 0 && at + form.length <= bytes.length && bytes.compare(form, 0, form.length, at, at + form.length) === 0
