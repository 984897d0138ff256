import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A new token secret: `svc_pat_`, 32 random base62 characters, 6 of checksum, so that scanners know a real one (decisions §4). */
export function newSecret(): string {
  const body = Array.from({ length: 32 }, () => alphabet[randomInt(62)]).join('')
  return `svc_pat_${body}${checksum(body)}`
}

/** Whether the text could be one of our secrets: saves a look-up for what was mistyped or made up. */
export function looksLikeSecret(text: string): boolean {
  const match = /^svc_pat_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/.exec(text)
  return match !== null && checksum(match[1] ?? '') === match[2]
}

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let position = 0; position < 6; position++) {
    text = alphabet[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}
