import { z } from 'zod'
import type { Api, Declaration, Member } from './api.ts'

const kinds = [
  'class',
  'mixin',
  'extension',
  'extension type',
  'enum',
  'function',
  'typedef',
  'variable',
  'constant',
  'getter',
  'setter',
] as const
const memberKinds = ['constructor', 'method', 'operator', 'getter', 'setter', 'field', 'constant', 'enum value'] as const

const member = z.object({ kind: z.enum(memberKinds), name: z.string(), signature: z.string(), isOverride: z.literal(true).optional() })

const declaration = z.object({
  kind: z.enum(kinds),
  name: z.string(),
  signature: z.string(),
  supertypes: z.array(z.object({ relation: z.enum(['extends', 'implements', 'with', 'on', 'represents']), type: z.string() })).optional(),
  members: z.array(member).optional(),
  /** Of classes; surfaces that were made before this was known do not have it. */
  hasDefaultConstructor: z.boolean().optional(),
})

/** What a library exports of another package, by itself or through its own files; surfaces that were made before this was known do not have it. */
const reexport = z.object({ uri: z.string(), combinators: z.array(z.object({ shows: z.boolean(), names: z.array(z.string()) })) })

/** What the libraries below `lib/` import, by path. */
const files = z.array(
  z.object({
    path: z.string(),
    imports: z.array(z.object({ uri: z.string(), conditions: z.array(z.object({ condition: z.string(), uri: z.string() })) })),
  }),
)

/** The part of a surface that following imports into a package needs. */
export const importsSchema = z.object({ files: files.optional() })

/** What comparing the public APIs of two versions needs, and following imports into one of them, as JSON. */
export const surfaceSchema = z.object({
  format: z.literal(1),
  /** Each once, however many libraries show it. */
  declarations: z.array(declaration),
  /** What each library below `lib/` shows, as places in `declarations`. */
  libraries: z.array(
    z.object({
      path: z.string(),
      shows: z.array(z.number().int().nonnegative()),
      foreignExports: z.array(z.string()),
      reexports: z.array(reexport).optional(),
    }),
  ),
  /** Types that no library shows and that public ones stand on or name; surfaces that were made before this was known do not have them. */
  hidden: z.array(declaration).optional(),
  /** Surfaces that were made before this was known do not have it. */
  files: files.optional(),
})
export type Surface = z.infer<typeof surfaceSchema>
export type SurfaceDeclaration = z.infer<typeof declaration>
export type SurfaceMember = z.infer<typeof member>

/** The outline of an API: without documentation and places. */
export function surfaceOf({ libraries, hidden, files: read }: Pick<Api, 'libraries' | 'hidden' | 'files'>): Surface {
  const places = new Map<Declaration, number>()
  const shown = libraries.map(({ path, declarations, foreignExports, reexports }) => ({
    path,
    shows: declarations.map((each) => {
      const place = places.get(each) ?? places.size
      places.set(each, place)
      return place
    }),
    foreignExports,
    reexports,
  }))
  const declarations = [...places.keys()]
  return {
    format: 1,
    declarations: declarations.map(outlined),
    libraries: shown,
    hidden: behind(declarations, hidden),
    files: read.map(({ path, imports }) => ({ path, imports: imports.map(({ uri, conditions }) => ({ uri, conditions })) })),
  }
}

/** The hidden types that others stand on, with what they hand down, and those that signatures name. */
function behind(declarations: readonly Declaration[], hidden: readonly Declaration[]): SurfaceDeclaration[] {
  const byName = Map.groupBy(hidden, ({ name }) => name)
  const handingDown = new Set<Declaration>()
  for (const each of [declarations, handingDown]) {
    for (const { supertypes } of each)
      for (const { type } of supertypes) for (const found of typesNamedIn(type, byName)) handingDown.add(found)
  }
  const inSight = new Set<Declaration>(handingDown)
  const take = ({ signature, supertypes, members }: Declaration, isWhole: boolean) => {
    const texts = [signature, ...supertypes.map(({ type }) => type), ...(isWhole ? members.map((member) => member.signature) : [])]
    for (const text of texts) for (const found of typesNamedIn(text, byName)) inSight.add(found)
  }
  for (const each of declarations) take(each, true)
  for (const each of inSight) take(each, handingDown.has(each))
  return [...inSight].map((each) => outlined(handingDown.has(each) ? each : { ...each, members: [] }))
}

const typesNamedIn = (text: string, byName: ReadonlyMap<string, Declaration[]>): Declaration[] =>
  (text.match(/[\w$]+/g) ?? []).flatMap((word) => byName.get(word) ?? [])

function outlined({ kind, name, signature, supertypes, members, hasDefaultConstructor }: Declaration): SurfaceDeclaration {
  return {
    kind,
    name,
    signature,
    ...(supertypes.length > 0 && { supertypes }),
    ...(members.length > 0 && { members: members.map(outlinedMember) }),
    ...(hasDefaultConstructor !== undefined && { hasDefaultConstructor }),
  }
}

const outlinedMember = ({ kind, name, signature, isOverride }: Member): SurfaceMember => ({
  kind,
  name,
  signature,
  ...(isOverride && { isOverride }),
})
