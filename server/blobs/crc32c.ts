/** CRC-32C (Castagnoli, RFC 3720 B.4) of `chunk`, going on from `previous`. zlib's crc32 is another polynomial. */
export function crc32c(chunk: Uint8Array, previous = 0): number {
  let crc = ~previous
  for (let index = 0; index < chunk.length; index++) crc = (table[(crc ^ (chunk[index] as number)) & 0xff] as number) ^ (crc >>> 8)
  return ~crc >>> 0
}

/** The checksum as `x-goog-hash` carries it: base64 of four big-endian bytes. */
export function encodeCrc32c(checksum: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(checksum)
  return bytes.toString('base64')
}

const polynomial = 0x82f63b78

const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1
  return crc
})
