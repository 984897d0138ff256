import { crc32 } from 'node:zlib'

// Source: "The .xz File Format", version 1.2.1. Writes one block of uncompressed LZMA2 chunks, without an integrity check.

const flags = Buffer.from([0, 0])

/** Encodes bytes as an .xz file without compressing them. */
export function xz(content: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; at < content.length; at += 65_536) {
    const chunk = content.subarray(at, at + 65_536)
    // Control byte: 1 resets the dictionary (first chunk), 2 does not.
    chunks.push(Buffer.from([at === 0 ? 1 : 2, (chunk.length - 1) >> 8, (chunk.length - 1) & 255]), chunk)
  }
  const data = Buffer.concat([...chunks, Buffer.from([0])])
  // Block header of 12 bytes: one filter, sizes omitted, LZMA2 with a dictionary of 64 KiB.
  const header = withCrc(Buffer.from([2, 0, 0x21, 1, 8, 0, 0, 0]))
  const block = Buffer.concat([header, data])
  const record = Buffer.concat([integer(block.length), integer(content.length)])
  const index = withCrc(padded(Buffer.concat([Buffer.from([0]), integer(1), record])))
  const size = Buffer.alloc(4)
  size.writeUInt32LE(index.length / 4 - 1)
  const tail = Buffer.concat([size, flags])
  const start = Buffer.concat([Buffer.from('\xfd7zXZ\0', 'latin1'), flags, crc(flags)])
  return Buffer.concat([start, padded(block), index, crc(tail), tail, Buffer.from('YZ')])
}

/** Encodes a variable-length integer: seven bits per byte, least significant first. */
const integer = (value: number): Buffer => Buffer.from(value < 128 ? [value] : [(value & 127) | 128, ...integer(Math.floor(value / 128))])

const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes], Math.ceil(bytes.length / 4) * 4)

function crc(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(crc32(bytes))
  return sum
}

const withCrc = (bytes: Buffer): Buffer => Buffer.concat([bytes, crc(bytes)])
