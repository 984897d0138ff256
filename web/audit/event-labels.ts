/** `package.uploader_added` → "Uploader added". */
export const eventName = (kind: string) => capitalized(wordsOf(kind.slice(kind.indexOf('.') + 1)))

/** `package.uploader_added` → "Package: uploader added", for lists that contain events of several groups. */
export function eventTitle(kind: string): string {
  const [group = '', name] = kind.split('.')
  const title = group === 'oauth' ? 'OAuth' : capitalized(wordsOf(group))
  return name ? `${title}: ${wordsOf(name)}` : title
}

const wordsOf = (name: string) => name.replaceAll('_', ' ').replace(/\bsdk\b/, 'SDK')
const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
