import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A new token secret: `svc_pat_`, 32 random base62 characters, 6 of checksum, so that scanners know a real one (decisions §4). */
export function newSecret(): string {
  const body = Array.from({ length: 32 }, () => alphabet[randomInt(62)]).join('')
  return `svc_pat_${body}${checksum(body)}`
}

/** Whether the text has the form of our secrets. That its checksum fits is for scanners to know: a look-up costs no more than to compute it. */
export const looksLikeSecret = (text: string): boolean => text.length === 46 && text.startsWith('svc_pat_')

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let position = 0; position < 6; position++) {
    text = alphabet[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}
