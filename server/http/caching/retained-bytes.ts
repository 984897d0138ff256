/**
 * Returns how many bytes of memory a value keeps from being freed, roughly. A buffer counts with all of the memory that it is a part of: results
 * of zlib and small buffers are slices of larger ones. The value must not contain itself.
 */
export function retainedBytes(value: unknown): number {
  if (typeof value === 'string') return stringBytes + value.length * (beyondLatin1.test(value) ? 2 : 1)
  if (typeof value === 'number') return (value | 0) === value ? 0 : numberBytes
  if (typeof value !== 'object' || value === null) return 0
  if (ArrayBuffer.isView(value)) return viewBytes + value.buffer.byteLength
  if (value instanceof Map) return objectBytes + sum([...value], ([key, one]) => entryBytes + retainedBytes(key) + retainedBytes(one))
  const parts = Array.isArray(value) ? value : Object.values(value)
  return objectBytes + sum(parts, (part) => slotBytes + retainedBytes(part))
}

/** Returns the same bytes in memory of their own, unless they have it already. `Buffer.from` would take a piece of the shared pool. */
export function inOwnMemory(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

// What V8 takes for each, next to the content. A view includes its ArrayBuffer and what the allocator adds.
const stringBytes = 24
const numberBytes = 16
const viewBytes = 320
const objectBytes = 64
const entryBytes = 48
const slotBytes = 8

/** V8 keeps a text in one byte per character, or in two if one of them needs it. */
const beyondLatin1 = /[\u0100-\uffff]/

const sum = <Part>(parts: readonly Part[], bytesOf: (part: Part) => number): number =>
  parts.reduce((total, part) => total + bytesOf(part), 0)
