import { posix } from 'node:path'
import { UnpackRefused } from './refusal.ts'

const maxPath = 1024
const maxSegment = 255

/**
 * The path of an entry below the archive's only folder `top`; '' for that folder itself.
 * @throws UnpackRefused for a path that leads out of it, or that is no plain relative path.
 */
export function pathBelow(top: string, raw: string): string {
  const path = raw.replace(/^(\.\/)+/, '').replace(/\/+$/, '')
  const segments = path.split('/')
  const isPlain = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..' && segment.length <= maxSegment)
  // oxlint-disable-next-line no-control-regex -- they are what it looks for
  if (!isPlain || path.length > maxPath || /[\u0000-\u001f\u007f\\]/.test(path) || /^[A-Za-z]:/.test(path))
    throw new UnpackRefused(`The archive has the path ${quoted(raw)}, which may lead out of its folder.`)
  if (segments[0] !== top) throw new UnpackRefused(`The archive has ${quoted(raw)} outside of its folder ${top}.`)
  return segments.slice(1).join('/')
}

/**
 * Refuses a link whose target is not surely within the folder: it may go up only at its beginning, from where the link really is, since
 * behind another link `..` leads elsewhere than it seems.
 * @throws UnpackRefused
 */
export function requireInside(path: string, target: string): void {
  const resolved = posix.normalize(posix.join(posix.dirname(path), target))
  const goesUpLate = /(^|\/)(?!\.\.?(\/|$))[^/]+\/(.*\/)?\.\.(\/|$)/.test(target)
  if (target === '' || target.includes('\0') || posix.isAbsolute(target) || goesUpLate || resolved === '..' || resolved.startsWith('../'))
    throw new UnpackRefused(`The archive has the link ${quoted(path)} to ${quoted(target)}, which may lead out of its folder.`)
}

export const quoted = (text: string): string => JSON.stringify(text.slice(0, 200))
