import { posix } from 'node:path'
import { UnpackRefused } from './refusal.ts'

const maxPath = 1024
const maxSegment = 255

/**
 * Returns the path of an archive entry relative to the archive's single top-level folder `top`; '' for the folder itself.
 * @throws UnpackRefused for a path that is not a plain relative path or is outside of `top`.
 */
export function pathBelow(top: string, raw: string): string {
  const path = raw.replace(/^(\.\/)+/, '').replace(/\/+$/, '')
  const segments = path.split('/')
  const isPlain = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..' && segment.length <= maxSegment)
  // oxlint-disable-next-line no-control-regex -- the pattern detects control characters
  if (!isPlain || path.length > maxPath || /[\u0000-\u001f\u007f\\]/.test(path) || /^[A-Za-z]:/.test(path))
    throw new UnpackRefused(`The archive has the path ${quoted(raw)}, which may lead out of its folder.`)
  if (segments[0] !== top) throw new UnpackRefused(`The archive has ${quoted(raw)} outside of its folder ${top}.`)
  return segments.slice(1).join('/')
}

/**
 * Rejects a symbolic link that may point outside of the folder. `..` segments are allowed only at the beginning of the target: after another link,
 * `..` resolves to a different folder than the text suggests.
 * @throws UnpackRefused
 */
export function requireInside(path: string, target: string): void {
  const resolved = posix.normalize(posix.join(posix.dirname(path), target))
  const goesUpLate = /(^|\/)(?!\.\.?(\/|$))[^/]+\/(.*\/)?\.\.(\/|$)/.test(target)
  if (target === '' || target.includes('\0') || posix.isAbsolute(target) || goesUpLate || resolved === '..' || resolved.startsWith('../'))
    throw new UnpackRefused(`The archive has the link ${quoted(path)} to ${quoted(target)}, which may lead out of its folder.`)
}

export const quoted = (text: string): string => JSON.stringify(text.slice(0, 200))
