import { globSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { defineConfig, type Plugin } from 'vite'
import { loadedFromFolder } from './loaded-from-folder.ts'

const root = resolve(import.meta.dirname, '../..')
const into = 'server/dist'

/** What runs in a thread or a process of its own is started by the address of its source. */
const startedByAddress = /new URL\('\.\/([\w-]+)\.ts', import\.meta\.url\)/g
const place = new RegExp(`${startedByAddress.source}|import\\.meta\\.(url|dirname)`, 'g')

/** The server, the operator's commands, and what runs in a thread or a process of its own: by the name in the build. */
const input = {
  main: 'server/main.ts',
  admin: 'server/admin/main.ts',
  ...Object.fromEntries(globSync('server/**/*.ts', { cwd: root }).flatMap(startedBy)),
}

// One file for what every start loads, with its dependencies, and further ones for what is loaded on demand. No comments, no blanks, and
// nothing that is never called: V8 keeps the text of every module in memory. Names stay, so that a stack still says where it happened.
export default defineConfig({
  publicDir: false,
  plugins: [builtPlaces(), inAscii()],
  ssr: { noExternal: true, external: [...loadedFromFolder, 'pg-native', 'swagger-ui-dist'] },
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
        // All that tells places lies in one folder: see builtPlaces.
        chunkFileNames: ({ name }) => (name.startsWith('Migration') ? 'migrations/[name]-[hash].js' : '[name]-[hash].js'),
      },
    },
  },
})

function startedBy(file: string): [name: string, path: string][] {
  const sources = [...readFileSync(resolve(root, file), 'utf8').matchAll(startedByAddress)].map(([, name]) => `${dirname(file)}/${name}.ts`)
  return sources.map((source) => [builtName(source), source])
}

/** Where a module of the server ends up that is started by its address: `server/markdown/worker.ts` as `markdown-worker`. */
function builtName(source: string): string {
  return relative('server', source).replaceAll('/', '-').replace(/\.ts$/, '')
}

/**
 * Lets a module in the build find what lies beside its source (texts, styles, the console), wherever the folder was copied to, and start the
 * built threads and processes: they begin sooner than their sources, and hold less memory.
 */
function builtPlaces(): Plugin {
  return {
    name: 'built-places',
    enforce: 'pre',
    transform: {
      filter: { id: { include: /\/server\/.*\.ts$/, exclude: /\/node_modules\// }, code: 'import.meta.' },
      handler(code, id) {
        const folder = relative(root, dirname(id))
        const fromBuild = relative(resolve(root, into), id)
        return code.replaceAll(place, (_, started?: string, what?: string) => {
          if (started) return `new URL('./${builtName(`${folder}/${started}.ts`)}.js', import.meta.url)`
          return what === 'url' ? `new URL('${fromBuild}', import.meta.url).href` : `(import.meta.dirname + '/${dirname(fromBuild)}')`
        })
      },
    },
  }
}

/** Writes every other character as an escape: V8 keeps a module in twice the memory, and takes longer to load it, for a single one of them. */
function inAscii(): Plugin {
  const escape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return {
    name: 'in-ascii',
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) if (file.type === 'chunk') file.code = file.code.replaceAll(/(?<!\\)[^\0-\x7f]/g, escape)
    },
  }
}
