import { anchorOf, type Place, type Shelf, type Site } from './site.ts'

/** Where a reference in a doc comment stands: in a library, in a type or one of its members, if in one. */
export type Spot = { shelf: Shelf | null; place: Place | null; parameters: string }

/** Where something is shown: a page and an anchor on it. */
export type Target = { path: string; anchor: string | null }

/**
 * What `[name]` in a doc comment means: a member of the enclosing type or of those it inherits from, something of the library, else something
 * that the package has once; also `Type.member`, `prefix.Name`, `new Name`, `name()` and `Name<T>`. A parameter and what is not known are null.
 */
export function resolveReference(text: string, { shelf, place, parameters }: Spot, site: Site): Target | null {
  const parts = partsOf(text)
  const [first] = parts
  if (!first) return null
  if (parts.length === 1 && parameters.includes(first) && new RegExp(`[\\s({[,.]${escaped(first)}\\s*[,)=\\]}]`).test(parameters))
    return null
  const own = place && (parts.length === 1 || first === place.declaration.name) ? memberOf(place, parts, site) : null
  if (own) return own
  const found = parts.length <= 3 ? (site.find(first, shelf) ?? null) : null
  if (found) return (parts.length > 1 && memberOf(found, parts, site)) || (parts.length > 1 && parts[1] !== 'new' ? null : targetOf(found))
  const library = site.libraries.find(({ library: { name, path } }) => name === text || path === `${text}.dart`)
  if (library) return { path: library.path, anchor: null }
  // A prefix of an import, or a library, before the name.
  return parts.length > 1 ? resolveReference(parts.slice(1).join('.'), { shelf, place: null, parameters: '' }, site) : null
}

/** The names of a reference; none when it is something else in brackets. */
function partsOf(text: string): string[] {
  const operator = /^(?:([A-Za-z_$][\w$]*)\.)?operator\s*(\S{1,3})$/.exec(text)
  if (operator) return [...(operator[1] ? [operator[1]] : []), `operator${operator[2]}`]
  const plain = text
    .replace(/^(new|const)\s+/, '')
    .replace(/<[\w$.,<>? ]*>/, '')
    .replace(/\(\)$|[?!]$/, '')
  if (!/^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*){0,3}$/.test(plain)) return []
  return /^(new|const)\s/.test(text) && !plain.includes('.') ? [plain, 'new'] : plain.split('.')
}

const targetOf = ({ path, anchor }: Place): Target => ({ path, anchor })

/** Whether text in brackets has the form of a reference at all. */
export const isReference = (text: string): boolean => partsOf(text).length > 0

function memberOf(place: Place, parts: readonly string[], site: Site): Target | null {
  const wanted = parts.at(-1) ?? ''
  for (const holder of lineage(place, site)) {
    const anchor = namesOf(holder).get(wanted)
    // Constructors are not inherited.
    if (anchor !== undefined && (holder === place || !anchor.startsWith(`${holder.declaration.name}.`)))
      return { path: holder.path, anchor }
  }
  return null
}

/** The anchors of a type's members by what references call them. */
function namesOf(place: Place): ReadonlyMap<string, string> {
  const known = named.get(place)
  if (known) return known
  const names = new Map<string, string>()
  const type = place.declaration.name
  for (const member of place.members) {
    const name = member.name.replace(/\s+/g, '')
    const called = member.kind !== 'constructor' ? name : name === type ? 'new' : name.slice(type.length + 1)
    for (const one of member.kind === 'operator' ? [name, `operator${name}`] : [called])
      if (!names.has(one)) names.set(one, anchorOf(member))
  }
  named.set(place, names)
  return names
}

const named = new WeakMap<Place, ReadonlyMap<string, string>>()

/** A type and those of the package that it inherits from, nearest first. */
export function lineage(place: Place, site: Site): Place[] {
  const found = new Set([place])
  for (const one of found) {
    if (one.declaration.kind !== 'extension') for (const parent of site.parentsOf(one)) found.add(parent)
    if (found.size > maxLineage) break
  }
  return [...found]
}

const maxLineage = 200
const escaped = (name: string) => name.replace(/[$]/g, '\\$&')
