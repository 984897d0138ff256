import type { Api, Declaration } from '../dart/api.ts'

/** Whether a doc comment hides its element from the documentation with `@nodoc`. */
export const isHiddenByComment = (doc: string | null): boolean =>
  doc !== null && doc.includes('@nodoc') && /(^|\s)@nodoc(\s|$)|\{@nodoc\}/.test(doc)

/** Named texts from doc comments that `{@macro name}` inserts elsewhere. */
export type Templates = ReadonlyMap<string, string>

/** Iterates over the doc comments of a package. */
export function* docsOf({ libraries, hidden }: Api): Generator<string> {
  const ofAll = function* (declarations: readonly Declaration[]) {
    for (const { doc, members } of declarations)
      for (const one of [doc, ...members.map((member) => member.doc)]) if (one !== null) yield one
  }
  for (const { doc, declarations } of libraries) {
    if (doc !== null) yield doc
    yield* ofAll(declarations)
  }
  yield* ofAll(hidden)
}

/** Collects the templates of all doc comments in a package. If several have the same name, the first one is used. */
export function templatesOf(api: Api): Templates {
  const templates = new Map<string, string>()
  for (const doc of docsOf(api)) {
    if (!doc.includes('{@template')) continue
    for (const [, name = '', text = ''] of doc.matchAll(template)) if (!templates.has(name)) templates.set(name, text)
  }
  return templates
}

/** Expands the macros of a doc comment and removes all other dartdoc directives (`{@category …}`, `{@tool …}`, …). */
export function applyDirectives(doc: string, templates: Templates): string {
  const text = doc.includes('@docImport') ? doc.replace(/^[ \t]*@docImport\b.*$/gm, '') : doc
  if (!text.includes('{@')) return text
  return fill(text, templates, 0)
    .replace(/\{@inject-html[^}\n]*\}[\s\S]{0,20000}?\{@end-inject-html\}/g, '')
    .replace(/\{@(youtube|animation)\s+\d+%?\s+\d+%?\s+(https:\/\/[^\s}]+)[^}\n]*\}/g, '[Video]($2)')
    .replace(/\{@[a-zA-Z-]+[^}\n]*\}/g, '')
}

const template = /\{@template\s+([^\s}]{1,200})\s*\}([\s\S]*?)\{@endtemplate\}/g
/** Maximum depth of nested macros. Also ends recursive templates. */
const maxDepth = 4
/** Maximum number of characters that the macros of a doc comment may expand to. */
const maxFilled = 100_000

function fill(doc: string, templates: Templates, depth: number): string {
  let remaining = maxFilled
  return doc.replace(/\{@macro\s+([^\s}]{1,200})\s*\}/g, (_macro, name: string) => {
    const text = depth < maxDepth ? (templates.get(name) ?? '') : ''
    const filled = text.includes('{@macro') ? fill(text, templates, depth + 1) : text
    remaining -= filled.length
    return remaining < 0 ? '' : filled
  })
}
