import { pathPart } from './path-part.ts'

/** The name of staged bytes, as it is. @throws RangeError for what could lead elsewhere. */
export const stagedName = (name: string): string => pathPart(name, /^[0-9a-z][0-9a-z-]{0,63}$/)

/** Where stored bytes are, below the root of a store. @throws RangeError for what is no SHA-256 in lower-case hex. */
export const storedAt = (sha256: string): string => `${pathPart(sha256, wholeHash).slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`

/** The name of removed bytes: it tells when they were removed. */
export const removedName = (sha256: string, at: Date): string => `${pathPart(sha256, wholeHash)}.${at.getTime()}`

/** What the name of removed bytes tells; null for a name that is not ours. */
export function readRemovedName(name: string): { sha256: string; removedAt: Date } | null {
  const [, sha256 = '', moment] = /^([0-9a-f]{64})\.(\d{1,15})$/.exec(name) ?? []
  return sha256 ? { sha256, removedAt: new Date(Number(moment)) } : null
}

/** Whether a name is a whole hash. */
export const isHash = (name: string): boolean => wholeHash.test(name)

const wholeHash = /^[0-9a-f]{64}$/
