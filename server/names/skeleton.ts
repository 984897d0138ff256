const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789_'

/** A package name without underscores and digits: names with the same skeleton are told apart by those alone. */
export const skeletonOf = (name: string): string => name.replace(/[_0-9]/g, '')

/** Every text that differs from a name by one character: left out, added, replaced, or swapped with its neighbour. At most 4,900 of them. */
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
