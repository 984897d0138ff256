import { code, type Finding, firstOf, grantPoints, type Subject } from './judge.ts'
import type { Api, Declaration, Library, Member } from '../dart/api.ts'

/** Rates the share of documented API elements and the presence of an example. Source: pana's rules. */
export function judgeDocumentation({ contents }: Subject, coverage: DocCoverage | null): Finding[] {
  const { example, pubspec } = contents
  const shown = { id: 'example', title: 'Provide an example', maximum: 10 }
  const remedy = `Add a short program that uses the package as \`example/${pubspec.needsFlutter ? 'lib/main.dart' : 'main.dart'}\`, or describe its use in \`example/README.md\`.`
  return [
    judgeCoverage(coverage, contents.tooLarge.length + contents.notText.length > 0),
    example
      ? grantPoints(shown, shown.maximum, `${code(example.path)} is the example.`)
      : grantPoints(shown, 0, 'There is no example in `example/`.', remedy),
  ]
}

/** Minimum share of documented elements, as in pana. */
const wantedShare = 0.2

function judgeCoverage(coverage: DocCoverage | null, isUnread: boolean): Finding {
  const criterion = { id: 'api-documentation', title: 'Document at least 20% of the public API', maximum: 10 }
  if (!coverage && isUnread) return { ...criterion, reason: 'No library below `lib/` could be read.' }
  if (!coverage || coverage.total === 0) return grantPoints(criterion, criterion.maximum, 'It has no public API.')
  const { documented, total, missing } = coverage
  const share = `${documented} of ${total} elements of the public API have doc comments (${Math.floor((documented / total) * 1000) / 10}%).`
  const undocumented = missing.length > 0 ? ` Without doc comments: ${firstOf(missing.map(code))}.` : ''
  if (documented / total >= wantedShare) return grantPoints(criterion, criterion.maximum, share + undocumented)
  const remedy =
    'Put `///` comments before public libraries, classes, members and functions. The lint `public_member_api_docs` finds those without.'
  return grantPoints(criterion, 0, share + undocumented, remedy)
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
