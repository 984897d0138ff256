import { type Api, type Declaration, isNamedType, type Library, type Member } from './api.ts'
import { namespacesOf, reexportsOf } from './namespaces.ts'
import { readDartFile, type SourceFile } from './read-file.ts'
import { resolveUri } from './directives.ts'
import { openGrammar } from './syntax/grammar.ts'
import { isNamedAt } from './declarations.ts'
import { argumentsOf, callableOf, fillIn, bareTypeName, type Parameter } from './signature.ts'

// Limits per package. They count work instead of time, so that the result does not depend on how busy the machine is. Files that exceed one are
// reported as unread.
/** Maximum number of characters per file. */
const maxCharacters = 16 * 1024 * 1024
/** Maximum number of declarations and members. */
const maxDeclarations = 400_000
/** Maximum number of steps of the parser above the usual number, against files that are slow to parse on purpose. */
const maxExcessSteps = 100_000
/** Generous upper bound for the steps of the parser in normal code. A kilobyte usually takes 25. */
const usualSteps = (text: string): number => 500 + text.length / 10

/** Reads the public API of a package from its sources below `lib/`, given by path in the archive. */
export async function readApi(sources: ReadonlyMap<string, string>, packageName: string | null): Promise<Api> {
  const grammar = await openGrammar()
  const files = new Map<string, SourceFile>()
  const [unclear, unread]: [string[], string[]] = [[], []]
  let [left, excessSteps] = [maxDeclarations, 0]
  for (const [path, text] of dartFiles(sources)) {
    if (text.length > maxCharacters || left <= 0 || excessSteps > maxExcessSteps) unread.push(path)
    else {
      const file = readDartFile(grammar, path, text, left)
      excessSteps += Math.max(file.steps - usualSteps(text), 0)
      left -= file.size
      files.set(path, file)
      if (file.isCutShort) unread.push(path)
      else if (!file.isClear) unclear.push(path)
    }
  }
  const belowLib = (paths: string[]) => paths.map((path) => path.slice('lib/'.length))
  return { ...apiOf(files, packageName), unclear: belowLib(unclear), unread: belowLib(unread) }
}

const dartFiles = (sources: ReadonlyMap<string, string>): [string, string][] =>
  [...sources].filter(([path]) => path.startsWith('lib/') && path.endsWith('.dart')).sort(([a], [b]) => (a < b ? -1 : 1))

function apiOf(files: ReadonlyMap<string, SourceFile>, packageName: string | null): Omit<Api, 'unclear' | 'unread'> {
  const libraries = withParts(files, packageName)
  typeSuperParameters(libraries.values())
  const names = namespacesOf(libraries, packageName)
  const shownLibraries = [...libraries.values()].filter(({ path }) => !path.startsWith('lib/src/'))
  const shown = new Set(shownLibraries.flatMap(({ path }) => names.get(path) ?? []))
  return {
    libraries: shownLibraries.map((file): Library => {
      const path = file.path.slice('lib/'.length)
      return {
        path,
        name: file.library || path.replace(/\.dart$/, ''),
        doc: file.doc,
        imports: importsOf(file),
        declarations: names.get(file.path) ?? [],
        foreignExports: file.imports
          .filter(({ kind, uri }) => kind === 'export' && resolveUri(uri, file.path, packageName) === null)
          .map(({ uri }) => uri),
        reexports: reexportsOf(file.path, libraries, packageName),
      }
    }),
    hidden: [...libraries.values()].flatMap(({ declarations, hidden }) => [
      ...hidden,
      ...declarations.filter((each) => isNamedType(each) && !shown.has(each)),
    ]),
    files: [...libraries.values()].map((file) => ({ path: file.path, imports: importsOf(file) })),
  }
}

const importsOf = ({ imports }: SourceFile): Library['imports'] => imports.map(({ kind, uri, conditions }) => ({ kind, uri, conditions }))

/** Returns the library files, each merged with its part files. */
function withParts(files: ReadonlyMap<string, SourceFile>, packageName: string | null): Map<string, SourceFile> {
  const libraries = new Map<string, SourceFile>()
  for (const file of files.values()) {
    if (file.partOf !== null) continue
    const all = withPartsOf(file, files, packageName)
    libraries.set(file.path, {
      ...file,
      imports: all.flatMap(({ imports }) => imports),
      declarations: all.flatMap(({ declarations }) => declarations),
      hidden: all.flatMap(({ hidden }) => hidden),
    })
  }
  return libraries
}

/** Returns a library and its parts, including parts of parts. */
function withPartsOf(library: SourceFile, files: ReadonlyMap<string, SourceFile>, packageName: string | null): SourceFile[] {
  const found = new Set([library])
  for (const file of found) {
    for (const uri of file.parts) {
      const part = files.get(resolveUri(uri, file.path, packageName) ?? '')
      if (part?.partOf != null) found.add(part)
    }
  }
  return [...found]
}

/** Matches a parameter such as `super.name` without a type. */
const superParameter = /(?<=[({[]|, |required |final )super\.([\w$]+)(?![\w$<(])/g

/** Adds types to `super.name` parameters of constructors, taken from the superclass constructors if these are known. */
function typeSuperParameters(libraries: Iterable<SourceFile>): void {
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
  const found = byName.get(bareTypeName(written)) ?? []
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
  if (declaration === null) return widget.test(bareTypeName(written)) ? [key] : []
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
