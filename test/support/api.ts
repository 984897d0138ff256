import { buildPages } from '../../server/analysis/api-pages/build.ts'
import { apiPageSchema } from '../../server/analysis/api-pages/page.ts'
import type { About } from '../../server/analysis/api-pages/site.ts'
import { isPagePath } from '../../server/analysis/api-pages/symbols.ts'
import type { Api, Declaration, Library, Member } from '../../server/analysis/dart/api.ts'
import { pagePlaceholder } from '../../server/registry/markdown/finish.ts'

export const about: About = {
  name: 'shapes',
  version: '1.2.0',
  description: 'Shapes to draw.',
  repository: null,
}

type Parts = Partial<Pick<Declaration, 'doc' | 'signature' | 'members' | 'supertypes' | 'source'>>
let line = 0

/** Returns a declaration of a public API. */
export const declared = (kind: Declaration['kind'], name: string, parts: Parts = {}): Declaration => ({
  kind,
  name,
  signature: `${kind} ${name}`,
  doc: null,
  deprecated: null,
  supertypes: [],
  members: [],
  source: { path: 'lib/shapes.dart', line: ++line },
  ...parts,
})

/** Returns a member of a type. */
export const memberOf = (kind: Member['kind'], name: string, doc: string | null = null, signature = `void ${name}()`): Member => ({
  kind,
  name,
  signature,
  doc,
  deprecated: null,
  isStatic: false,
  isOverride: false,
  source: { path: 'lib/shapes.dart', line: ++line },
})

/** Returns the API of a package with one library. */
export const apiOf = (declarations: Declaration[], library: Partial<Library> = {}): Api => ({
  libraries: [{ path: 'shapes.dart', name: 'shapes', doc: null, imports: [], declarations, foreignExports: [], reexports: [], ...library }],
  files: [],
  hidden: [],
  unclear: [],
  unread: [],
})

const shape = declared('class', 'Shape', {
  signature: 'abstract class Shape',
  doc: 'Something to draw.\n\n{@template round}It is [Circle]-shaped.{@endtemplate}',
  members: [
    memberOf('getter', 'area', 'In square pixels.', 'double get area'),
    memberOf('operator', 'operator ==', null, 'bool operator ==(Object other)'),
  ],
})
const circle = declared('class', 'Circle', {
  signature: 'class Circle extends Shape',
  doc: 'A round [Shape].',
  supertypes: [{ relation: 'extends', type: 'Shape' }],
  members: [
    memberOf('constructor', 'Circle', null, 'Circle(double radius)'),
    memberOf(
      'constructor',
      'Circle.around',
      'Around [other].',
      "Circle.around(Shape other, {double margin = 1.5, String label = 'a, Shape', required List<Shape> more, bool? isFilled})",
    ),
  ],
})
const largest = declared('function', 'largest', { signature: 'Shape largest(List<Shape> shapes)', doc: 'The largest of [shapes].' })

/** API of a small package: a library with two classes and a function, and a library that exports the first class. */
export const shapes: Api = {
  libraries: [
    ...apiOf([shape, circle, largest], { doc: 'Shapes.' }).libraries,
    ...apiOf([shape], { path: 'extras.dart', name: 'extras', foreignExports: ['package:other/other.dart'] }).libraries,
  ],
  files: [],
  hidden: [],
  unclear: [],
  unread: [],
}

/** Returns the files of the documentation by path: pages and indexes. */
export async function filesOf(...args: Parameters<typeof buildPages>): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  for await (const { path, content } of buildPages(...args)) files.set(path, content)
  return files
}

/** Returns the HTML of the pages of the documentation by path, with `{page}` for the address of the version. */
export async function pagesOf(...args: Parameters<typeof buildPages>): Promise<Map<string, string>> {
  const pages = [...(await filesOf(...args))].filter(([path]) => isPagePath(path))
  const htmlOf = (content: string) => apiPageSchema.parse(JSON.parse(content)).html.replaceAll(pagePlaceholder, '{page}')
  return new Map(pages.map(([path, content]) => [path, htmlOf(content)]))
}
