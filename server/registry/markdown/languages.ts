import escapeHtml from 'escape-html'
import type { LanguageRegistration } from 'shiki/types'

/** Grammars by name, each loaded when a text needs it for the first time. */
export const grammars = {
  bat: () => import('shiki/langs/bat.mjs'),
  c: () => import('shiki/langs/c.mjs'),
  cmake: () => import('shiki/langs/cmake.mjs'),
  cpp: () => import('shiki/langs/cpp.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  dart: () => import('shiki/langs/dart.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  docker: () => import('shiki/langs/docker.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  graphql: () => import('shiki/langs/graphql.mjs'),
  groovy: () => import('shiki/langs/groovy.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  http: () => import('shiki/langs/http.mjs'),
  ini: () => import('shiki/langs/ini.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  javascript: () => import('shiki/langs/javascript.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  jsonc: () => import('shiki/langs/jsonc.mjs'),
  kotlin: () => import('shiki/langs/kotlin.mjs'),
  make: () => import('shiki/langs/make.mjs'),
  markdown: () => import('shiki/langs/markdown.mjs'),
  'objective-c': () => import('shiki/langs/objective-c.mjs'),
  powershell: () => import('shiki/langs/powershell.mjs'),
  proto: () => import('shiki/langs/proto.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  ruby: () => import('shiki/langs/ruby.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  scss: () => import('shiki/langs/scss.mjs'),
  shellscript: () => import('shiki/langs/shellscript.mjs'),
  shellsession: () => import('shiki/langs/shellsession.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  swift: () => import('shiki/langs/swift.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  xml: () => import('shiki/langs/xml.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
} satisfies Record<string, () => Promise<{ default: LanguageRegistration[] }>>

export type Language = keyof typeof grammars

/** A code block in a known language. `placeholder` stands for its HTML in the document. */
export type CodeBlock = { placeholder: string; code: string; language: Language }

/** Further names of languages, which authors write after the fence of a code block, and file extensions. */
const aliases: Record<string, Language> = {
  ...named('bat', 'batch cmd'),
  ...named('c', 'h'),
  ...named('cpp', 'c++ cc cxx hpp hh'),
  ...named('docker', 'dockerfile'),
  ...named('diff', 'patch'),
  ...named('go', 'golang'),
  ...named('graphql', 'gql'),
  ...named('groovy', 'gradle'),
  ...named('html', 'htm xhtml'),
  ...named('ini', 'properties env dotenv conf cfg editorconfig'),
  ...named('javascript', 'js mjs cjs jsx'),
  ...named('json', 'arb geojson webmanifest'),
  ...named('jsonc', 'json5'),
  ...named('kotlin', 'kt kts'),
  ...named('make', 'makefile'),
  ...named('markdown', 'md mkd mdx'),
  ...named('objective-c', 'objc objectivec obj-c m mm'),
  ...named('powershell', 'ps ps1 pwsh psm1'),
  ...named('proto', 'protobuf'),
  ...named('python', 'py'),
  ...named('ruby', 'rb podspec podfile gemfile'),
  ...named('rust', 'rs'),
  ...named('shellscript', 'sh bash shell zsh fish'),
  ...named('shellsession', 'console shell-session terminal sh-session bash-session'),
  ...named('typescript', 'ts tsx mts cts'),
  ...named('xml', 'svg plist xsd xaml storyboard xib entitlements iml'),
  ...named('yaml', 'yml'),
}

function named(language: Language, names: string): Record<string, Language> {
  return Object.fromEntries(names.split(' ').map((name) => [name, language]))
}

/** Returns the language with this name, such as `dart` or `sh`, or null if it is unknown. */
export function languageNamed(name: string): Language | null {
  const key = name.toLowerCase()
  if (Object.hasOwn(grammars, key)) return key as Language
  return Object.hasOwn(aliases, key) ? (aliases[key] ?? null) : null
}

/** Returns the language of a file according to its name, or null if it is unknown. */
export function languageOfFile(path: string): Language | null {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  if (/^(pubspec\.lock|podfile\.lock|\.clang-format|\.metadata|\.packages)$/.test(name)) return 'yaml'
  return languageNamed(name.slice(name.lastIndexOf('.') + 1))
}

/** Limits of highlighting. What exceeds them is shown without colors. */
export const highlightLimits = { characters: 512 * 1024, charactersPerLine: 2000, milliseconds: 900 }

/** Splits a text into lines. A line break at the end starts no further line. */
export const splitLines = (text: string): string[] => text.replace(/\r?\n$/, '').split(/\r?\n/)

/** Escapes code. Characters that change the order in which others are shown are visible and have no effect, so that code reads as it runs. */
export const escapeCode = (text: string): string =>
  escapeHtml(text).replace(
    directionMarks,
    (mark) => `<span class="direction-mark" title="U+${mark.charCodeAt(0).toString(16).toUpperCase()}">${mark}</span>`,
  )

/** Embeddings, overrides and isolates (UAX #9, section 2). */
export const directionMarks = /[\u202a-\u202e\u2066-\u2069]/g
