import { fileAt } from './addresses.ts'
import type { Api, Declaration, Library } from './api.ts'
import { openGrammar } from './syntax/grammar.ts'
import { namespacesOf, reexportsOf } from './namespaces.ts'
import { readFile, type SourceFile } from './read-file.ts'
import { typeSuperParameters } from './super-parameters.ts'

/** Most characters of one file that is read; longer ones count as unclear. */
const mostCharacters = 16 * 1024 * 1024
/** Most declarations and members of a package; files past them count as unclear. */
const mostDeclarations = 400_000

/** Files that take longer than sound ones may do so for this long together, in milliseconds; the files after them count as unclear. */
const mostExcessMs = 10_000
/** Most of what a sound file takes, with some to spare: a kilobyte takes a third of a millisecond. */
const usualMs = (text: string): number => 50 + text.length / 1000

/** Reads a package's public API from its files, by their paths in the archive; those outside `lib/` are not looked at. Its name is that which `package:` URIs of its own have. */
export async function readApi(sources: ReadonlyMap<string, string>, packageName: string | null): Promise<Api> {
  const grammar = await openGrammar()
  const files = new Map<string, SourceFile>()
  const unclear: string[] = []
  let [left, excessMs] = [mostDeclarations, 0]
  for (const [path, text] of dartFiles(sources)) {
    if (text.length > mostCharacters || left <= 0 || excessMs > mostExcessMs) unclear.push(path)
    else {
      const began = process.cpuUsage()
      const file = readFile(grammar, path, text, left)
      const { user, system } = process.cpuUsage(began)
      excessMs += Math.max((user + system) / 1000 - usualMs(text), 0)
      left -= file.size
      files.set(path, file)
      if (!file.isClear) unclear.push(path)
    }
  }
  return { ...apiOf(files, packageName), unclear: unclear.map((path) => path.slice('lib/'.length)) }
}

const dartFiles = (sources: ReadonlyMap<string, string>): [string, string][] =>
  [...sources].filter(([path]) => path.startsWith('lib/') && path.endsWith('.dart')).sort(([a], [b]) => (a < b ? -1 : 1))

function apiOf(files: ReadonlyMap<string, SourceFile>, packageName: string | null): Omit<Api, 'unclear'> {
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
          .filter(({ kind, uri }) => kind === 'export' && fileAt(uri, file.path, packageName) === null)
          .map(({ uri }) => uri),
        reexports: reexportsOf(file.path, libraries, packageName),
      }
    }),
    hidden: [...libraries.values()].flatMap(({ declarations, hidden }) => [
      ...hidden,
      ...declarations.filter((each) => isType(each) && !shown.has(each)),
    ]),
    files: [...libraries.values()].map((file) => ({ path: file.path, imports: importsOf(file) })),
  }
}

const isType = ({ kind }: Declaration): boolean => ['class', 'mixin', 'extension type', 'enum', 'typedef'].includes(kind)

const importsOf = ({ imports }: SourceFile): Library['imports'] => imports.map(({ kind, uri, conditions }) => ({ kind, uri, conditions }))

/** The files that are libraries, each with what its parts declare. */
function withParts(files: ReadonlyMap<string, SourceFile>, packageName: string | null): Map<string, SourceFile> {
  const libraries = new Map<string, SourceFile>()
  for (const file of files.values()) {
    if (file.partOf !== null) continue
    const parts = partsOf(file, files, packageName)
    libraries.set(file.path, {
      ...file,
      imports: [file, ...parts].flatMap(({ imports }) => imports),
      declarations: [file, ...parts].flatMap(({ declarations }) => declarations),
      hidden: [file, ...parts].flatMap(({ hidden }) => hidden),
    })
  }
  return libraries
}

/** The parts of a library, and theirs. */
function partsOf(library: SourceFile, files: ReadonlyMap<string, SourceFile>, packageName: string | null): SourceFile[] {
  const found = new Set([library])
  for (const file of found) {
    for (const uri of file.parts) {
      const part = files.get(fileAt(uri, file.path, packageName) ?? '')
      if (part?.partOf != null) found.add(part)
    }
  }
  return [...found].slice(1)
}
