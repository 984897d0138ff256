import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import ui from '@nuxt/ui/vite'
import vue from '@vitejs/plugin-vue'
import { defineConfig, type Plugin } from 'vite'
import { typedOperations } from './codegen.ts'
import { helpPages } from './help-pages.ts'
import { lazyParts } from './lazy-parts.ts'
import { pageIndex } from './page-index.ts'
import { precompress } from './precompress.ts'

const api = `http://localhost:${process.env.LISTEN_PORT || 8080}`

const hoverOf = { primary: 'hover:bg-primary/90 active:bg-primary/90', error: 'hover:bg-error/90 active:bg-error/90' }

/** Files that several pages share without a page that needs all of them: small parts of pages, what floats above a page, and the list box. */
const shared = {
  parts:
    /export-helper|components\/(Badge|Skeleton)\.vue|web\/(users\/users\.ts|search\/search-query\.ts|score\/score-labels\.ts|shared\/(account-name|code-snippet|cursor-list\.ts|empty-state|failure-notice|feed-link|format|link-tabs|note-banner|page-link\.vue|page-state|query-param|relative-time))/,
  popups:
    /@floating-ui\/|reka-ui\/dist\/(shared|Menu\/utils|Popper|FocusScope|DismissableLayer|FocusGuards|Presence|Collection|VisuallyHidden|RovingFocus|Teleport|Primitive)|@nuxt\/ui\/dist\/runtime\/(composables|locale|utils)|web\/shared\/(form|confirm)-dialog/,
  select: /components\/Select\.vue$/,
}

/**
 * Bundles the code into few chunks: fewer requests, and larger files compress better. Each of the pages that most visits start with has its own
 * group, in the order in which they take the modules that they need: a page loads only the groups above its own, and only what it needs of them.
 */
const fewFiles = {
  codeSplitting: {
    groups: [
      { name: 'start', tags: ['$initial' as const] },
      { name: 'shared', test: shared.parts },
      { name: 'tray', test: /web\/shell\/tray(-menu\.vue|\.ts)/ },
      { name: 'home', test: /web\/packages\/home-page\.vue/ },
      { name: 'sign-in', test: /web\/sign-in\/login-page\.vue/ },
      { name: 'package', test: /web\/package\/(package-frame|readme-page)\.vue/ },
      { name: 'popups', test: shared.popups },
      { name: 'select', test: shared.select },
      // Loaded once the pointer or the focus reaches one of them.
      { name: 'menus', test: /web\/(search\/search-menu|shell\/(account|theme)-menu|shared\/item-menu)\.vue/ },
      { name: 'packages', test: /web\/packages\/packages-page\.vue/ },
      { name: 'administration', test: /web\/(shell\/admin-frame|overview\/overview-page)\.vue/ },
      { name: 'versions', test: /web\/package\/versions-page\.vue/ },
      { name: 'long-lists', test: /@tanstack\/(virtual-core|vue-virtual)\// },
      {
        name: 'forms',
        test: /\/(RadioGroup|Checkbox|Textarea|Switch|Slideover|secret-sheet|allow-dialog)\b/,
        minShareCount: 3,
        includeDependenciesRecursively: false,
      },
      {
        name: 'tokens',
        test: /\/web\/(tokens|trusted-publishing(?!\/(version-)?provenance))\/|\/(CheckboxGroup\.vue|checkbox-group\.ts)/,
        minShareCount: 2,
        includeDependenciesRecursively: false,
      },
      { name: 'common', minShareCount: 3 },
      { name: 'package-pages', test: /web\/(package|score|advisories|files|shared\/tab-title)/, minShareCount: 2 },
      { name: 'administration-pages', test: /web\/(shell\/admin|shared\/(side-nav|time-chart)|overview|setup)/, minShareCount: 2 },
    ],
  },
  // Names of shared chunks list all their importers, separated by `~`; keep only the first part.
  chunkFileNames: ({ name }: { name: string }) => `assets/${name.split('~', 1)[0]}-[hash].js`,
}

export default defineConfig({
  root: import.meta.dirname,
  // Relative URLs in the bundle let the same build be served under any path prefix.
  base: './',
  resolve: {
    alias: [
      { find: /^@iconify\/vue$/, replacement: join(import.meta.dirname, 'icons.ts') },
      { find: /^@0no-co\/graphql\.web$/, replacement: join(import.meta.dirname, 'graphql-syntax.ts') },
    ],
  },
  plugins: [
    typedOperations(),
    helpPages(),
    themeScript(),
    precompress(),
    lazyParts(),
    pageIndex(),
    vue({ features: { optionsAPI: false } }),
    ui({
      root: resolve(import.meta.dirname, '..'), // stores its generated theme in the root node_modules
      autoImport: false,
      components: { dirs: [], dts: 'generated/components.d.ts' },
      experimental: { componentDetection: true },
      // Bundle the icons that are used, so that no icon is fetched from an external API.
      icon: { clientBundle: { scan: { globInclude: ['web/**/*.{vue,ts}'] }, sizeLimitKb: 256 } },
      theme: { colors: ['primary', 'success', 'info', 'warning', 'error'] },
      ui: {
        colors: { primary: 'petrol', success: 'emerald', info: 'sky', warning: 'amber', error: 'rose', neutral: 'mist' },
        // By default, hovered buttons fade to 75 % opacity, which gives their labels too little contrast.
        button: {
          slots: { base: 'disabled:opacity-50 aria-disabled:opacity-50' },
          compoundVariants: (['primary', 'error'] as const).map((color) => ({ color, variant: 'solid', class: hoverOf[color] })),
        },
        // Keeps the text of the header clear of the close button.
        modal: { slots: { wrapper: 'pe-8' } },
      },
    }),
  ],
  build: {
    target: 'baseline-widely-available',
    license: { fileName: 'licenses.json' },
    sourcemap: false,
    assetsInlineLimit: 0,
    // One style sheet: those of single pages are small.
    cssCodeSplit: false,
    rolldownOptions: { output: fewFiles },
  },
  server: {
    port: 5173,
    strictPort: true,
    proxy: Object.fromEntries(
      [
        '^/(api|graphql|documentation|raw|images|thumbnails)(/|\\?|$)',
        '^/oauth/(?!consent)',
        '^/auth/',
        '^/packages/[^/]+/versions/[^/]+\\.tar\\.gz$',
      ].map((path) => [
        path,
        // Browsers that open the explorer or the REST reference get a page of the console.
        {
          target: api,
          bypass: ({ url = '', headers }) =>
            /^\/(graphql|api\/docs)(\?|$)/.test(url) && headers.accept?.includes('text/html') ? '/index.html' : undefined,
        },
      ]),
    ),
  },
})

/** Adds theme.js to the page as an inline script that runs before the first paint. The server allows it by its hash (see `inlineScripts`). */
function themeScript(): Plugin {
  const children = readFileSync(join(import.meta.dirname, 'theme.js'), 'utf8')
  return {
    name: 'theme-script',
    transformIndexHtml: { order: 'post', handler: () => [{ tag: 'script', attrs: { id: 'color-mode' }, children, injectTo: 'head' }] },
  }
}
