import type { Api, Declaration, Library, Member } from './api.ts'

/** Number of public API elements with doc comments, and the first few names without one. */
export type DocCoverage = { documented: number; total: number; missing: string[] }

/**
 * Counts libraries, declarations and members as pana does. A getter and its setter count once, as does an element exported by several libraries. An
 * overriding member counts as documented if the overridden member is, or is declared outside of this package.
 */
export function docCoverageOf({ libraries }: Pick<Api, 'libraries'>): DocCoverage {
  const classes = classesByName(libraries)
  const elements = new Map<string, { name: string; isDocumented: boolean }>()
  const count = (key: string, name: string, isDocumented: boolean) => {
    const known = elements.get(key)
    elements.set(key, { name: known?.name ?? name, isDocumented: isDocumented || known?.isDocumented === true })
  }
  for (const library of libraries) {
    count(library.path, library.name, library.doc !== null)
    for (const declaration of library.declarations) {
      const key = `${declaration.source.path} ${declaration.name}`
      count(key, `${library.name}.${declaration.name}`, declaration.doc !== null)
      for (const member of declaration.members) {
        if (!isCounted(member, declaration)) continue
        count(
          `${key} ${member.name}`,
          `${library.name}.${declaration.name}.${lastPart(member)}`,
          isDocumented(member, declaration, classes),
        )
      }
    }
  }
  const all = [...elements.values()]
  const missing = all.filter((element) => !element.isDocumented)
  return { documented: all.length - missing.length, total: all.length, missing: missing.slice(0, 5).map(({ name }) => name) }
}

const lastPart = ({ kind, name }: Member): string => (kind === 'constructor' ? (name.split('.')[1] ?? 'new') : name)

/** Members that every object has are not counted. The unnamed constructor of a documented class needs no comment of its own. */
const isCounted = (member: Member, { name, doc }: Declaration): boolean =>
  !common.has(member.name) && (member.doc !== null || doc === null || member.kind !== 'constructor' || member.name !== name)

const common = new Set(['toString', 'noSuchMethod', 'hashCode', 'runtimeType'])

type Type = Pick<Declaration, 'supertypes'> & { byName: ReadonlyMap<string, Member> }

const classesByName = (libraries: readonly Library[]): Map<string, Type> =>
  new Map(
    libraries.flatMap(({ declarations }) =>
      declarations.flatMap(({ name, supertypes, members }) =>
        members.length === 0 ? [] : [[name, { supertypes, byName: new Map(members.map((member) => [member.name, member])) }] as const],
      ),
    ),
  )

/** Maximum number of supertypes visited. */
const maxAncestors = 100

function isDocumented({ doc, name, isOverride }: Member, { supertypes }: Declaration, classes: ReadonlyMap<string, Type>): boolean {
  if (doc !== null || !isOverride) return doc !== null
  const seen = new Set<Pick<Declaration, 'supertypes'>>([{ supertypes }])
  let isInherited = false
  for (const above of seen) {
    for (const { type } of above.supertypes) {
      const parent = classes.get(/^[\w$]+/.exec(type)?.[0] ?? '')
      if (parent === undefined || seen.size > maxAncestors) continue
      seen.add(parent)
      const overridden = parent.byName.get(name)
      if (overridden !== undefined && overridden.doc !== null) return true
      isInherited ||= overridden !== undefined && !overridden.isOverride
    }
  }
  return !isInherited
}
