/** Whether this could be the name of a package. A few old packages are called by what is a reserved word now. */
export const isPackageName = (text: string): boolean => /^[a-z][a-z0-9_]{0,63}$/.test(text)

/** The rule in words. */
export const nameRule = 'must be 1 to 64 lowercase letters, digits and underscores, starting with a letter'

/** What is wrong with a package name, as a sentence about `name`; null when it may be published. Source: at most 64 lower-case letters, digits and underscores, and pub's list of reserved words. */
export function nameFault(name: string): string | null {
  if (!isPackageName(name)) return nameRule
  return reservedWords.has(name) ? `must not be ${name}, a reserved word of Dart` : null
}

/** The client refuses to read a pubspec with one of these names; words that old packages bear (async, get, …) are not among them. */
const reservedWords = new Set(
  `abstract as assert await break case catch class const continue covariant default deferred do else enum export extends external false final finally for
  hide if implements import in inline interface is late library mixin new null of on operator part required rethrow return sealed set super switch this
  throw true try type var void while with yield`.split(/\s+/),
)
