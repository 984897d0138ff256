const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789_'

/** Returns a package name without underscores and digits. Names with the same skeleton differ only in those characters. */
export const skeletonOf = (name: string): string => name.replace(/[_0-9]/g, '')

/**
 * Returns every string that differs from a name by one edit: a character removed, added, replaced, or swapped with its neighbor. At most 4,900
 * strings.
 */
export function oneEditAway(name: string): string[] {
  const edits = new Set<string>()
  for (let at = 0; at <= name.length; at++) {
    const [before, here, after] = [name.slice(0, at), name.slice(at, at + 1), name.slice(at + 1)]
    for (const letter of alphabet) {
      edits.add(before + letter + here + after)
      if (here) edits.add(before + letter + after)
    }
    if (here) edits.add(before + after)
    if (after) edits.add(before + after.slice(0, 1) + here + after.slice(1))
  }
  edits.delete(name)
  return [...edits]
}
