import { check, code, firstOf, type Subject } from './judge.ts'
import type { Criterion } from './report.ts'
import type { Api, Declaration, Library, Member } from '../dart/api.ts'

/** Minimum share of documented elements. pana requires a fifth. */
const wantedShare = 0.5

/** Checks the share of documented API elements. */
export function judgeApiDocumentation({ contents }: Subject, coverage: DocCoverage | null): Criterion {
  const about = { id: 'api-documentation', title: 'Document at least half of the public API' }
  if (!coverage && contents.tooLarge.length + contents.notText.length > 0)
    return check(about, [{ fault: 'No library below `lib/` could be read.', remedy: 'Split large files, and save them as UTF-8.' }], '')
  if (!coverage || coverage.total === 0) return check(about, [], 'It has no public API.')
  const { documented, total, missing } = coverage
  const share = `${documented} of ${total} elements of the public API have doc comments (${Math.floor((documented / total) * 1000) / 10}%).`
  const undocumented = missing.length > 0 ? ` Without doc comments: ${firstOf(missing.map(code))}.` : ''
  const remedy =
    'Put `///` comments before public libraries, classes, members and functions. The lint `public_member_api_docs` finds those without.'
  const faults = documented / total >= wantedShare ? [] : [{ fault: share + undocumented, remedy }]
  return check(about, faults, share + undocumented)
}

/** Number of public API elements with doc comments, and the first few names without one. */
type DocCoverage = { documented: number; total: number; missing: string[] }

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
        const name = `${library.name}.${declaration.name}.${lastPart(member)}`
        count(`${key} ${member.name}`, name, isDocumented(member, declaration, classes))
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

function classesByName(libraries: readonly Library[]): Map<string, Type> {
  const withMembers = libraries.flatMap(({ declarations }) => declarations).filter(({ members }) => members.length > 0)
  const membersByName = (members: readonly Member[]) => new Map(members.map((member) => [member.name, member]))
  return new Map(withMembers.map(({ name, supertypes, members }) => [name, { supertypes, byName: membersByName(members) }]))
}

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
