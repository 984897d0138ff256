import { fileAt } from './addresses.ts'
import type { Api, Library } from './api.ts'
import { openGrammar } from './syntax/grammar.ts'
import { namespacesOf } from './namespaces.ts'
import { readFile, type SourceFile } from './read-file.ts'

/** Most characters of one file that is read; longer ones count as unclear. */
const mostCharacters = 16 * 1024 * 1024
/** Most declarations and members of a package; files past them count as unclear. */
const mostDeclarations = 400_000

/** Reads a package's public API from its files, by their paths in the archive; those outside `lib/` are not looked at. Its name is that which `package:` URIs of its own have. */
export async function readApi(sources: ReadonlyMap<string, string>, packageName: string | null): Promise<Api> {
  const grammar = await openGrammar()
  const files = new Map<string, SourceFile>()
  const unclear: string[] = []
  let left = mostDeclarations
  for (const [path, text] of dartFiles(sources)) {
    if (text.length > mostCharacters || left <= 0) unclear.push(path)
    else {
      const file = readFile(grammar, path, text, left)
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
  const names = namespacesOf(libraries, packageName)
  const isShown = ({ path }: SourceFile) => !path.startsWith('lib/src/')
  return {
    libraries: [...libraries.values()].filter(isShown).map((file): Library => {
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
      }
    }),
    files: [...libraries.values()].map((file) => ({ path: file.path, imports: importsOf(file) })),
  }
}

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
