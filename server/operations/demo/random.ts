/** Source of repeatable random numbers. */
export type Random = {
  /** Returns a number from 0 (included) to 1 (excluded). */
  next(): number
  /** Returns a whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  /** Returns one of the entries. The list must not be empty. */
  pick<Entry>(list: readonly Entry[]): Entry
}

/** Creates a source of random numbers (Mulberry32). The same seed gives the same numbers. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  return {
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    pick: (list) => list[Math.floor(next() * list.length)] as (typeof list)[number],
  }
}

/** Returns a seed for a text. */
export const seedOf = (text: string): number => Buffer.from(text).reduce((hash, byte) => Math.imul(hash ^ byte, 16_777_619), 2_166_136_261)
