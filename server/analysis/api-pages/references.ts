import { declarationAnchor, type LibraryPage, type Place, type Site } from './site.ts'

/** Location of a doc comment: its library and type, and the signature of the documented element. */
type ReferenceOrigin = { libraryPage: LibraryPage | null; place: Place | null; parameters: string }

/** A page and an anchor on the page. */
export type Target = { path: string; anchor: string | null }

/**
 * Resolves `[name]` in a doc comment: a member of the enclosing type and its supertypes, a declaration in the library, or a unique name in the
 * package. Also understands `Type.member`, `prefix.Name`, `new Name`, `name()` and `Name<T>`. Returns null for parameters and unknown names.
 */
export function resolveReference(text: string, { libraryPage, place, parameters }: ReferenceOrigin, site: Site): Target | null {
  const parts = partsOf(text)
  const [first] = parts
  if (!first) return null
  if (parts.length === 1 && parameters.includes(first) && new RegExp(`[\\s({[,.]${escaped(first)}\\s*[,)=\\]}]`).test(parameters))
    return null
  const own = place && (parts.length === 1 || first === place.declaration.name) ? memberOf(place, parts, site) : null
  if (own) return own
  const found = parts.length <= 3 ? (site.find(first, libraryPage) ?? null) : null
  if (found) return (parts.length > 1 && memberOf(found, parts, site)) || (parts.length > 1 && parts[1] !== 'new' ? null : targetOf(found))
  const library = site.libraries.find(({ library: { name, path } }) => name === text || path === `${text}.dart`)
  if (library) return { path: library.path, anchor: null }
  // The first part may be an import prefix or a library name.
  return parts.length > 1 ? resolveReference(parts.slice(1).join('.'), { libraryPage, place: null, parameters: '' }, site) : null
}

/** Splits a reference into names. Returns an empty list if the text is not a reference. */
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

/** Whether a text in brackets has the syntax of a reference. */
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

/** Maps the names used in references to the anchors of a type's members. */
function namesOf(place: Place): ReadonlyMap<string, string> {
  const known = named.get(place)
  if (known) return known
  const names = new Map<string, string>()
  const type = place.declaration.name
  for (const member of place.members) {
    const name = member.name.replace(/\s+/g, '')
    const called = member.kind !== 'constructor' ? name : name === type ? 'new' : name.slice(type.length + 1)
    for (const one of member.kind === 'operator' ? [name, `operator${name}`] : [called])
      if (!names.has(one)) names.set(one, declarationAnchor(member))
  }
  named.set(place, names)
  return names
}

const named = new WeakMap<Place, ReadonlyMap<string, string>>()

/** Returns a type and its supertypes in the package, nearest first. */
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
