import { packageRejected } from '../../errors.ts'

/** Rejects the package. The client shows one line of at most 1,024 characters (pub's protocol, "Publish"), so the message is reduced to that. */
export function rejectArchive(message: string): never {
  throw packageRejected(printable(message).slice(0, 1024))
}

/** Quotes a name or path from the archive for a message: printable ASCII only, truncated. */
export function quoted(text: string): string {
  return `"${printable(text.length > 200 ? `${text.slice(0, 200)}...` : text)}"`
}

/** Quotes a name or path for a message about its characters: everything except printable ASCII is written as a code point escape. */
export function escaped(text: string): string {
  const shown = text.replace(/[^\x20-\x7e]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
  return `"${shown.length > 300 ? `${shown.slice(0, 300)}...` : shown}"`
}

const printable = (text: string) => text.replace(/[^\x20-\x7e]+/g, '?')
