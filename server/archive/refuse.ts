import { packageRejected } from '../errors.ts'

/** Ends the inspection of a package. The client shows one line of at most 1,024 characters (pub's protocol, "Publish"), so the message becomes that. */
export function refuse(message: string): never {
  throw packageRejected(printable(message).slice(0, 1024))
}

/** A name or path of the uploader's, quoted for a message: printable ASCII, cut short. */
export function quoted(text: string): string {
  return `"${printable(text.length > 200 ? `${text.slice(0, 200)}...` : text)}"`
}

/** The same for a name whose very characters are at fault: what is not printable ASCII is written as its code point. */
export function escaped(text: string): string {
  const shown = text.replace(/[^\x20-\x7e]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
  return `"${shown.length > 300 ? `${shown.slice(0, 300)}...` : shown}"`
}

const printable = (text: string) => text.replace(/[^\x20-\x7e]+/g, '?')
