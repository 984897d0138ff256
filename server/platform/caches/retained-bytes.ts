/**
 * Estimates the bytes of memory that a value without cycles retains. A buffer counts with the whole block it is a slice of, as results of zlib are.
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

/** Copies a buffer into memory of its own if it is a slice of a larger block. `Buffer.from` would use a slice of the shared pool. */
export function inOwnMemory(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

// V8's memory overhead in bytes per value, excluding the content. `viewBytes` includes the ArrayBuffer and the allocator's overhead.
const stringBytes = 24
const numberBytes = 16
const viewBytes = 320
const objectBytes = 64
const entryBytes = 48
const slotBytes = 8

/** V8 stores a string in one byte per character, or in two if any character is above U+00FF. */
const beyondLatin1 = /[\u0100-\uffff]/

const sum = <Part>(parts: readonly Part[], bytesOf: (part: Part) => number): number =>
  parts.reduce((total, part) => total + bytesOf(part), 0)
