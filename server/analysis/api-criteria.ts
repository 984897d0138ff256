import type { Api, Declaration, Library } from '../dart/api.ts'
import { code, type Finding, firstOf, granting, type Subject } from './judge.ts'

/** How much of the public API has doc comments; null when there is no library to read. */
export type Coverage = { documented: number; total: number; missing: string[] } | null

/** Whether the API is documented, and shown by an example. Source: pana's rules. */
export function judgeDocumentation({ contents }: Subject, coverage: Coverage): Finding[] {
  const { example, pubspec } = contents
  const shown = { id: 'example', title: 'Provide an example', maximum: 10 }
  const remedy = `Add a short program that uses the package as \`example/${pubspec.needsFlutter ? 'lib/main.dart' : 'main.dart'}\`, or describe its use in \`example/README.md\`.`
  return [
    judgeCoverage(coverage, contents.sources.size > 0),
    example
      ? granting(shown, shown.maximum, `${code(example.path)} is the example.`)
      : granting(shown, 0, 'There is no example in `example/`.', remedy),
  ]
}

/** As pana demands. */
const wantedShare = 0.2

function judgeCoverage(coverage: Coverage, hasSources: boolean): Finding {
  const criterion = { id: 'api-documentation', title: 'Document at least 20% of the public API', maximum: 10 }
  if (!coverage && hasSources) return { ...criterion, reason: 'No library below `lib/` could be read.' }
  if (!coverage || coverage.total === 0) return granting(criterion, criterion.maximum, 'It has no public API.')
  const { documented, total, missing } = coverage
  const share = `${documented} of ${total} elements of the public API have doc comments (${Math.floor((documented / total) * 1000) / 10}%).`
  const undocumented = missing.length > 0 ? ` Without one: ${firstOf(missing.map(code))}.` : ''
  if (documented / total >= wantedShare) return granting(criterion, criterion.maximum, share + undocumented)
  const remedy =
    'Put `///` comments before public libraries, classes, members and functions. The lint `public_member_api_docs` finds those without.'
  return granting(criterion, 0, share + undocumented, remedy)
}

/**
 * Counts as dartdoc's index does: libraries, what they declare or export, and members, each once by its name; those that every object has
 * do not count, nor an unnamed constructor where its class has a comment.
 */
export function coverageOf({ libraries }: Api): Coverage {
  if (libraries.length === 0) return null
  const elements = new Map<string, boolean>()
  const seen = new Set<Declaration>()
  const places = new Set<string>()
  for (const library of libraries) {
    elements.set(library.name, library.doc !== null)
    for (const declaration of library.declarations) {
      const place = placeOf(declaration)
      if (!seen.has(declaration) && !places.has(place)) count(elements, library, declaration)
      seen.add(declaration)
      places.add(place)
    }
  }
  const missing = [...elements].flatMap(([name, isDocumented]) => (isDocumented ? [] : [name]))
  return { documented: elements.size - missing.length, total: elements.size, missing }
}

/** Where something is declared: it is one thing, however many libraries export it. */
const placeOf = ({ name, kind, source }: Declaration) => `${source.path}:${source.line}:${kind}:${name}`

const ofEveryObject = new Set(['toString', 'noSuchMethod', 'hashCode', 'runtimeType'])

function count(elements: Map<string, boolean>, library: Library, declaration: Declaration): void {
  const own = `${library.name}.${declaration.name}`
  note(elements, own, declaration.doc !== null)
  for (const member of declaration.members) {
    if (ofEveryObject.has(member.name)) continue
    const isUnnamed = member.kind === 'constructor' && member.name === declaration.name
    note(elements, `${own}.${member.name}`, member.doc !== null || (isUnnamed && declaration.doc !== null))
  }
}

/** A getter and its setter are one. */
function note(elements: Map<string, boolean>, name: string, isDocumented: boolean): void {
  elements.set(name, isDocumented || elements.get(name) === true)
}
