/** Returns the name of a staged file unchanged. @throws RangeError if the name could lead to another folder. */
export const stagedName = (name: string): string => pathPart(name, /^[0-9a-z][0-9a-z-]{0,63}$/)

/** Returns the path of stored bytes relative to the root of a store. @throws RangeError if the value is not a SHA-256 in lower-case hex. */
export const storedAt = (sha256: string): string => `${pathPart(sha256, wholeHash).slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`

/** Returns the name of a removed file, which contains the removal time in milliseconds. */
export const removedName = (sha256: string, at: Date): string => `${pathPart(sha256, wholeHash)}.${at.getTime()}`

/** Parses the name of a removed file. Returns null for any other name. */
export function readRemovedName(name: string): { sha256: string; removedAt: Date } | null {
  const [, sha256 = '', moment] = /^([0-9a-f]{64})\.(\d{1,15})$/.exec(name) ?? []
  return sha256 ? { sha256, removedAt: new Date(Number(moment)) } : null
}

/** Returns whether a name is a complete SHA-256 in lower-case hex. */
export const isHash = (name: string): boolean => wholeHash.test(name)

const wholeHash = /^[0-9a-f]{64}$/

/**
 * Validates a value that becomes part of a path or object key and returns it unchanged. Ids and hashes come from a database that may have been
 * restored or edited.
 * @throws RangeError if the value does not match `form`, which must match the whole value and must not allow `..` between separators.
 */
export function pathPart(value: string, form: RegExp): string {
  if (!form.test(value)) throw new RangeError(`Not a valid file name: ${JSON.stringify(value.slice(0, 200))}`)
  return value
}
