import type { Declaration, Member } from './api.ts'
import { isNamedAt } from './declarations.ts'
import type { SourceFile } from './read-file.ts'
import { argumentsOf, callableOf, fillIn, nameOf, type Parameter } from './signature.ts'

/** Matches a parameter such as `super.name` without a type. */
const superParameter = /(?<=[({[]|, |required |final )super\.([\w$]+)(?![\w$<(])/g

/** Adds types to `super.name` parameters of constructors, taken from the superclass constructors if these are known. */
export function typeSuperParameters(libraries: Iterable<SourceFile>): void {
  const classes = [...libraries].flatMap(({ declarations, hidden }) => [...declarations, ...hidden]).filter(({ kind }) => kind === 'class')
  const byName = Map.groupBy(classes, ({ name }) => name)
  const done = new Set<Declaration>()
  const typeAll = (own: Declaration, depth: number): void => {
    if (done.has(own) || depth > maxSuperclasses) return
    done.add(own)
    const parent = superclassOf(own, byName)
    if (parent !== null) typeAll(parent.declaration ?? own, depth + 1)
    own.members = own.members.map((member) => (member.kind === 'constructor' ? typed(member, parent, byName) : member))
  }
  for (const each of classes) typeAll(each, 0)
}

/** Maximum number of superclasses visited per class. */
const maxSuperclasses = 100

type Superclass = { written: string; declaration: Declaration | null }
type ClassesByName = ReadonlyMap<string, readonly Declaration[]>

/** `declaration` is null if the superclass belongs to another package or its name is ambiguous. */
function superclassOf({ supertypes, source }: Declaration, byName: ClassesByName): Superclass | null {
  const written = supertypes.find(({ relation }) => relation === 'extends')?.type
  if (written === undefined) return null
  const found = byName.get(nameOf(written)) ?? []
  const declaration = found.find((each) => each.source.path === source.path) ?? (found.length === 1 ? found[0] : null)
  return { written, declaration: declaration ?? null }
}

function typed(member: Member, parent: Superclass | null, byName: ClassesByName): Member {
  if (parent === null || !member.signature.includes('super.')) return member
  const parameters = parametersOf(parent, member.superConstructor ?? '', byName)
  const positional = parameters.filter(({ isNamed }) => !isNamed)
  let count = 0
  const signature = member.signature.replace(superParameter, (written, name: string, at: number) => {
    const isNamed = isNamedAt(member.signature, at)
    const found = isNamed ? parameters.find((each) => each.isNamed && each.name === name) : positional[count++]
    return found === undefined || found.type === '' ? written : `${found.type} ${name}`
  })
  return { ...member, signature }
}

/** Returns the parameters of a superclass constructor. A mixin application (`class A = B with C;`) has the constructors of its own superclass. */
function parametersOf({ written, declaration }: Superclass, constructor: string, byName: ClassesByName): Parameter[] {
  if (declaration === null) return widget.test(nameOf(written)) ? [key] : []
  const name = constructor === '' ? declaration.name : `${declaration.name}.${constructor}`
  const found = declaration.members.find((member) => member.kind === 'constructor' && member.name === name)
  const above = found === undefined && / = /.test(declaration.signature) ? superclassOf(declaration, byName) : null
  const parameters = found === undefined ? [] : (callableOf(found.signature)?.parameters ?? [])
  const all = above === null || above.declaration === declaration ? parameters : parametersOf(above, constructor, byName)
  const typeArguments = argumentsOf(declaration, written)
  return all.map((parameter) => ({ ...parameter, type: fillIn(parameter.type, typeArguments) }))
}

/** Widgets of Flutter, and of packages that follow its conventions, have a `key` parameter. */
const widget = /Widget$/
const key: Parameter = { name: 'key', type: 'Key?', isNamed: true, isRequired: false, default: null }
