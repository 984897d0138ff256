import type { Declaration, Member } from './api.ts'
import { isNamedAt } from './declared.ts'
import type { SourceFile } from './read-file.ts'
import { callableOf, type Parameter } from './signature.ts'
import { argumentsOf, fillIn, nameOf } from './type-arguments.ts'

/** A parameter such as `super.name` whose type is not written, and where its name stands. */
const superParameter = /(?<=[({[]|, |required |final )super\.([\w$]+)(?![\w$<(])/g

/** Gives `super.name` parameters of constructors the types that they have in the constructors of superclasses, as far as those are known. */
export function typeSuperParameters(libraries: Iterable<SourceFile>): void {
  const classes = [...libraries].flatMap(({ declarations, hidden }) => [...declarations, ...hidden]).filter(({ kind }) => kind === 'class')
  const byName = Map.groupBy(classes, ({ name }) => name)
  const done = new Set<Declaration>()
  const typeAll = (own: Declaration, depth: number): void => {
    if (done.has(own) || depth > mostSuperclasses) return
    done.add(own)
    const parent = superclassOf(own, byName)
    if (parent !== null) typeAll(parent.declaration ?? own, depth + 1)
    own.members = own.members.map((member) => (member.kind === 'constructor' ? typed(member, parent, byName) : member))
  }
  for (const each of classes) typeAll(each, 0)
}

/** Superclasses above one that are looked at. */
const mostSuperclasses = 100

type Superclass = { written: string; declaration: Declaration | null }
type ClassesByName = ReadonlyMap<string, readonly Declaration[]>

/** The superclass of a class, which `declaration` lacks where it is one of another package, or ambiguous. */
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

/** The parameters of a constructor of a superclass. Classes that mix something in (`class A = B with C;`) have those of theirs. */
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

/** The widgets of Flutter, and of packages that follow it, take a key. */
const widget = /Widget$/
const key: Parameter = { name: 'key', type: 'Key?', isNamed: true, isRequired: false, default: null }
