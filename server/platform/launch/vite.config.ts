import { globSync, readFileSync } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import { dirname } from 'node:path/posix'
import { defineConfig, type Plugin } from 'vite'

/** Packages that are loaded from node_modules instead of being bundled: native code, and packages whose files are located by path. */
export const loadedFromFolder = ['bcrypt', 'better-sqlite3', 'sharp', 'tree-sitter-dart-orchard', 'web-tree-sitter']

const root = resolve(import.meta.dirname, '../../..')
const into = 'server/dist'

/** Matches worker threads and child processes, which are started by the URL of their source. */
const startedByAddress = /new URL\('\.\/([\w-]+)\.ts', import\.meta\.url\)/g
const place = new RegExp(`${startedByAddress.source}|import\\.meta\\.(url|dirname)`, 'g')

/** Converts the path separators of Windows. */
const withSlashes = (path: string) => path.replaceAll(sep, '/')

/** Entry points by name in the build: the server, the demo, the administration commands, and the worker threads and child processes. */
const input = {
  main: 'server/main.ts',
  demo: 'server/operations/demo/main.ts',
  admin: 'server/operations/admin/main.ts',
  ...Object.fromEntries(globSync('server/**/*.ts', { cwd: root }).map(withSlashes).flatMap(startedBy)),
}

// One file for everything that is loaded at startup, with dependencies, and further files for code loaded on demand. Comments, whitespace and unused
// code are removed, because V8 keeps the source of every module in memory. Names are kept for readable stack traces.
export default defineConfig({
  publicDir: false,
  plugins: [builtPlaces(), inAscii()],
  ssr: { noExternal: true, external: [...loadedFromFolder, 'pg-native'] },
  build: {
    ssr: true,
    outDir: into,
    target: 'node22',
    license: { fileName: 'licenses.json' },
    rolldownOptions: {
      input,
      output: {
        keepNames: true,
        minify: { compress: false, mangle: false, codegen: true },
        // Modules that use `import.meta` must be in this folder: see builtPlaces.
        chunkFileNames: ({ name }) => (name.startsWith('Migration') ? 'migrations/[name]-[hash].js' : '[name]-[hash].js'),
      },
    },
  },
})

function startedBy(file: string): [name: string, path: string][] {
  const sources = [...readFileSync(resolve(root, file), 'utf8').matchAll(startedByAddress)].map(([, name]) => `${dirname(file)}/${name}.ts`)
  return sources.map((source) => [builtName(source), source])
}

/** Returns the name in the build of a worker or child process: `server/registry/markdown/worker.ts` becomes `registry-markdown-worker`. */
function builtName(source: string): string {
  return source.replace(/^server\/(.*)\.ts$/, '$1').replaceAll('/', '-')
}

/**
 * Rewrites `import.meta.url` and `import.meta.dirname`, so that built modules find files next to their sources, wherever the
 * folder is copied to, and start the built workers, which start faster and use less memory.
 */
function builtPlaces(): Plugin {
  return {
    name: 'built-places',
    enforce: 'pre',
    transform: {
      filter: { id: { include: /\/server\/.*\.ts$/, exclude: /\/node_modules\// }, code: 'import.meta.' },
      handler(code, id) {
        const folder = withSlashes(relative(root, dirname(id)))
        const fromBuild = withSlashes(relative(resolve(root, into), id))
        return code.replaceAll(place, (_, started?: string, what?: string) => {
          if (started) return `new URL('./${builtName(`${folder}/${started}.ts`)}.js', import.meta.url)`
          return what === 'url' ? `new URL('${fromBuild}', import.meta.url).href` : `(import.meta.dirname + '/${dirname(fromBuild)}')`
        })
      },
    },
  }
}

/** Escapes non-ASCII characters. A single one of them makes V8 store the module in twice the memory and load it more slowly. */
function inAscii(): Plugin {
  const escape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return {
    name: 'in-ascii',
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) if (file.type === 'chunk') file.code = file.code.replaceAll(/(?<!\\)[^\0-\x7f]/g, escape)
    },
  }
}
