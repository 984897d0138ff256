import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Kind, parse } from 'graphql'
import type { Plugin, Rolldown } from 'vite'
import { flatPages } from './flat-pages.ts'
import type { FirstQuery } from './pages.ts'

/** Modules of the frame around every page, which the entry script loads asynchronously. */
const frameModules: string[] = []

/**
 * Vite plugin that writes `pages.json`, from which the server assembles the HTML page of each path: the files that the browser loads in addition
 * to those of index.html, and the queries whose answers are embedded.
 */
export function pageIndex(): Plugin {
  return {
    name: 'page-index',
    apply: 'build',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const queries = queryReader()
      // A frame has the same path as its first page, which follows it and replaces it here.
      const partsOf = new Map(flatPages().map(({ path, parts }) => [path, parts]))
      const pages = Array.from(partsOf, ([path, parts]) => ({
        path,
        files: filesOf([...frameModules, ...parts.flatMap(({ module }) => module ?? [])], bundle),
        queries: parts.flatMap((part) => part.queries ?? []).map(queries),
      }))
      const session = queries({ name: 'Session', variables: {} })
      this.emitFile({ type: 'asset', fileName: 'pages.json', source: JSON.stringify({ session, pages }) })
    },
  }
}

/**
 * Returns a function that replaces the name of a query with the hash of its text, which the console sends.
 * @throws Error if the query does not exist or has other variables.
 */
function queryReader() {
  const texts = JSON.parse(readFileSync(join(import.meta.dirname, 'generated/documents.json'), 'utf8')) as Record<string, string>
  const known = new Map(Object.entries(texts).map(([hash, text]) => [/^query (\w+)/.exec(text)?.[1], { hash, text }]))
  return ({ name, ...query }: FirstQuery) => {
    const { hash, text } = known.get(name) ?? {}
    if (hash === undefined || text === undefined) throw new Error(`web/pages.ts names the unknown query ${name}.`)
    const [definition] = parse(text).definitions
    const declared = (definition?.kind === Kind.OPERATION_DEFINITION && definition.variableDefinitions) || []
    const required = declared.filter(({ type, defaultValue }) => type.kind === Kind.NON_NULL_TYPE && !defaultValue)
    const names = declared.map(({ variable }) => variable.name.value)
    const wrong = [
      ...Object.keys(query.variables).filter((variable) => !names.includes(variable)),
      ...required.map(({ variable }) => variable.name.value).filter((variable) => !(variable in query.variables)),
    ]
    if (wrong.length > 0) throw new Error(`web/pages.ts: the query ${name} has other variables: ${wrong.join(', ')}.`)
    return { hash, ...query }
  }
}

/** Returns the scripts and style sheets that contain these modules and everything they import, except files that index.html names. */
function filesOf(modules: string[], bundle: Rolldown.OutputBundle): string[] {
  const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
  const named = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  const loaded = closure(
    chunks.filter(({ isEntry }) => isEntry),
    named,
  )
  const wanted = modules.map((module) => {
    const path = join(import.meta.dirname, module)
    const chunk = chunks.find(({ moduleIds }) => moduleIds.includes(path))
    if (!chunk) throw new Error(`The build does not contain ${module}.`)
    return chunk
  })
  const added = [...closure(wanted, named)].filter((chunk) => !loaded.has(chunk))
  return added.flatMap((chunk) => [chunk.fileName, ...(chunk.viteMetadata?.importedCss ?? [])])
}

/** Returns chunks and all chunks that they import statically. */
function closure(
  chunks: Rolldown.OutputChunk[],
  named: ReadonlyMap<string, Rolldown.OutputChunk>,
  known = new Set<Rolldown.OutputChunk>(),
): Set<Rolldown.OutputChunk> {
  for (const chunk of chunks) {
    if (known.has(chunk)) continue
    known.add(chunk)
    closure(
      chunk.imports.flatMap((name) => named.get(name) ?? []),
      named,
      known,
    )
  }
  return known
}
