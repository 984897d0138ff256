import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

/** What stays in node_modules: native code, and what is found there by its path. */
const external = ['better-sqlite3', 'sharp', 'pg-native', 'swagger-ui-dist', 'web-tree-sitter']

/** The server, and what runs in a process of its own. */
const input = { main: 'server/main.ts', analysis: 'server/analysis/worker.ts' }

// One file for what every start loads, with its dependencies, and further ones for what is loaded on demand. No comments, no blanks, and
// nothing that is never called: V8 keeps the text of every module in memory. Names stay, so that a stack still says where it happened.
export default defineConfig({
  publicDir: false,
  plugins: [sourcePlaces(), builtProcess()],
  ssr: { noExternal: true, external },
  build: {
    ssr: true,
    outDir: 'server/dist',
    target: 'node22',
    rolldownOptions: { input, output: { keepNames: true, minify: { compress: false, mangle: false, codegen: true } } },
  },
})

/** Lets a module in the bundle find what lies beside its source: migrations, texts, workers, the console. */
function sourcePlaces(): Plugin {
  const places = (id: string) => ({ 'import.meta.dirname': dirname(id), 'import.meta.url': pathToFileURL(id).href })
  return {
    name: 'source-places',
    enforce: 'pre',
    transform: {
      filter: { id: { include: /\/server\/.*\.ts$/, exclude: /\/node_modules\// }, code: 'import.meta.' },
      handler: (code, id) => Object.entries(places(id)).reduce((text, [name, place]) => text.replaceAll(name, JSON.stringify(place)), code),
    },
  }
}

/** Lets the built server start the built process of an analysis: it begins sooner than its sources, and holds two thirds of the memory. */
function builtProcess(): Plugin {
  return {
    name: 'built-process',
    enforce: 'pre',
    transform: {
      filter: { id: /\/server\/analysis\/analyze\.ts$/ },
      handler: (code) => code.replace("'./worker.ts'", "'../dist/analysis.js'"),
    },
  }
}
