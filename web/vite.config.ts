import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import ui from '@nuxt/ui/vite'
import vue from '@vitejs/plugin-vue'
import { defineConfig, type Plugin } from 'vite'
import { typedOperations } from './codegen.ts'
import { precompress, referenceViewer } from './precompress.ts'

const api = `http://localhost:${process.env.LISTEN_PORT || 8080}`

const hoverOf = { primary: 'hover:bg-primary/90 active:bg-primary/90', error: 'hover:bg-error/90 active:bg-error/90' }

/** What every page starts with is one file, and what many pages share, a few: each file costs headers, and compresses better as part of a larger one. */
const fewFiles = {
  codeSplitting: {
    groups: [
      { name: 'start', tags: ['$initial' as const], priority: 1 },
      { name: 'shared', minShareCount: 6, entriesAware: true, entriesAwareMergeThreshold: 9000 },
    ],
  },
  // The name of a shared part lists whoever shares it.
  chunkFileNames: ({ name }: { name: string }) => `assets/${name.split('~', 1)[0]}-[hash].js`,
}

export default defineConfig({
  root: import.meta.dirname,
  // Addresses in the bundle are relative, so that one build serves below any path prefix.
  base: './',
  plugins: [
    typedOperations(),
    themeScript(),
    referenceViewer(),
    precompress(),
    vue(),
    ui({
      root: resolve(import.meta.dirname, '..'), // keeps its theme files in the one node_modules
      autoImport: false,
      components: { dirs: [], dts: 'generated/components.d.ts' },
      experimental: { componentDetection: true },
      // Nothing is fetched from outside: the icons in use are part of the bundle.
      icon: { clientBundle: { scan: { globInclude: ['web/**/*.{vue,ts}'] }, sizeLimitKb: 256 } },
      theme: { colors: ['primary', 'success', 'info', 'warning', 'error'] },
      ui: {
        colors: { primary: 'petrol', success: 'emerald', info: 'sky', warning: 'amber', error: 'rose', neutral: 'mist' },
        // The theme fades a button below the pointer to 75 %, which leaves its label too little contrast.
        button: {
          slots: { base: 'disabled:opacity-50 aria-disabled:opacity-50' },
          compoundVariants: (['primary', 'error'] as const).map((color) => ({ color, variant: 'solid', class: hoverOf[color] })),
        },
      },
    }),
  ],
  build: {
    target: 'baseline-widely-available',
    license: { fileName: 'licenses.json' },
    sourcemap: false,
    assetsInlineLimit: 0,
    rolldownOptions: { output: fewFiles },
  },
  server: {
    port: 5173,
    strictPort: true,
    proxy: Object.fromEntries(
      ['^/(api|graphql|documentation)(/|\\?|$)', '^/oauth/(?!consent)', '^/packages/[^/]+/versions/[^/]+\\.tar\\.gz$'].map((path) => [
        path,
        // The explorer is a page of the console.
        {
          target: api,
          bypass: ({ url, headers }) => (url === '/graphql' && headers.accept?.includes('text/html') ? '/index.html' : undefined),
        },
      ]),
    ),
  },
})

/** Puts theme.js into the page as a script of its own, which runs before the first paint. */
function themeScript(): Plugin {
  let file: string | undefined
  let source = '/theme.js'
  return {
    name: 'theme-script',
    buildStart() {
      if (this.environment.mode !== 'build') return
      file = this.emitFile({ type: 'asset', name: 'theme.js', source: readFileSync(join(import.meta.dirname, 'theme.js')) })
    },
    generateBundle() {
      if (file) source = `./${this.getFileName(file)}`
    },
    transformIndexHtml: { order: 'post', handler: () => [{ tag: 'script', attrs: { src: source }, injectTo: 'head' }] },
  }
}
