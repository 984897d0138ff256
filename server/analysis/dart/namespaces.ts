import type { Declaration, Reexport } from './api.ts'
import { type Directive, resolveUri } from './directives.ts'
import type { SourceFile } from './read-file.ts'

type Imports = ReadonlyMap<string, Pick<SourceFile, 'imports'>>

/** Computes the export namespace of each library: its own declarations including those of its parts, and its exports from this package. */
export function namespacesOf(
  libraries: ReadonlyMap<string, Pick<SourceFile, 'imports' | 'declarations'>>,
  packageName: string | null,
): Map<string, Declaration[]> {
  const seen = new Map([...libraries.keys()].map((path) => [path, new Map<string, Declaration>()]))
  const exporters = exportersOf(libraries, packageName)
  const queue: { path: string; key: string; declaration: Declaration }[] = []
  const add = (path: string, key: string, declaration: Declaration) => {
    const names = seen.get(path)
    if (names === undefined || names.has(key) || queue.length >= maxNames) return
    names.set(key, declaration)
    queue.push({ path, key, declaration })
  }
  for (const [path, { declarations }] of libraries) for (const declaration of declarations) add(path, keyOf(declaration), declaration)
  for (const { path, key, declaration } of queue) {
    for (const { exporter, combinators } of exporters.get(path) ?? [])
      if (showsName(combinators, declaration.name)) add(exporter, key, declaration)
  }
  return new Map([...seen].map(([path, names]) => [path, [...names.values()]]))
}

/** Maximum number of names in all libraries together: far more than any hand-written package has. */
const maxNames = 1_000_000

/** A getter and its setter have the same name, so setters get a separate key. */
const keyOf = ({ kind, name }: Declaration): string => (kind === 'setter' ? `${name}=` : name)

/** Returns the exports of the files of this package, by exported file. */
function exportersOf(libraries: Imports, packageName: string | null) {
  const all = [...libraries].flatMap(([exporter, { imports }]) =>
    imports.map((directive) => ({
      exporter,
      combinators: directive.combinators,
      file: directive.kind === 'export' ? exportedFile(directive, exporter, libraries, packageName) : null,
    })),
  )
  return Map.groupBy(all, ({ file }) => file)
}

/** Returns the exported file. For conditional exports, this is the first URI whose condition holds in a complete SDK, as in dartdoc. */
function exportedFile({ uri, conditions }: Directive, from: string, libraries: Imports, packageName: string | null): string | null {
  const met = conditions.filter(({ condition }) => /^dart\.library\.\w+(?: == 'true')?$/.test(condition)).map((condition) => condition.uri)
  const files = [...met, uri].map((each) => resolveUri(each, from, packageName))
  return files.find((file) => file !== null && libraries.has(file)) ?? null
}

/** Maximum number of exports from other packages per library. */
const maxReexports = 1000

/** Returns the exports from other packages, direct or through files of this package. */
export function reexportsOf(path: string, libraries: Imports, packageName: string | null): Reexport[] {
  const found = new Map<string, Reexport>()
  const seen = new Set<string>()
  const queue: { from: string; combinators: Reexport['combinators'] }[] = [{ from: path, combinators: [] }]
  for (const { from, combinators } of queue) {
    for (const directive of libraries.get(from)?.imports ?? []) {
      if (directive.kind !== 'export' || found.size + seen.size > maxReexports) continue
      const passed = [...combinators, ...directive.combinators.map(({ shows, names }) => ({ shows, names: [...names] }))]
      const file = exportedFile(directive, from, libraries, packageName)
      const key = JSON.stringify([file ?? directive.uri, passed])
      if (file === null && resolveUri(directive.uri, from, packageName) === null)
        found.set(key, { uri: directive.uri, combinators: passed })
      else if (file !== null && !seen.has(key)) {
        seen.add(key)
        queue.push({ from: file, combinators: passed })
      }
    }
  }
  return [...found.values()]
}

const showsName = (combinators: Directive['combinators'], name: string): boolean =>
  combinators.every(({ shows, names }) => names.has(name) === shows)
