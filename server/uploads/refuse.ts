import { packageRejected } from '../errors.ts'

/** Ends the inspection of a package. The client shows one line of at most 1,024 characters (pub's protocol, "Publish"), so the message becomes that. */
export function refuse(message: string): never {
  throw packageRejected(printable(message).slice(0, 1024))
}

/** A name or path of the uploader's, quoted for a message: printable ASCII, cut short. */
export function quoted(text: string): string {
  return `"${printable(text.length > 200 ? `${text.slice(0, 200)}...` : text)}"`
}

const printable = (text: string) => text.replace(/[^\x20-\x7e]+/g, '?')
