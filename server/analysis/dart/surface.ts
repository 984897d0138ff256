import { gunzipSync } from 'node:zlib'
import { z } from 'zod'
import { type Api, type Declaration, declarationKinds, type Member, memberKinds, relations } from './api.ts'
import type { KnownPackage } from './reachable-libraries.ts'

const member = z.object({ kind: z.enum(memberKinds), name: z.string(), signature: z.string(), isOverride: z.literal(true).optional() })

const declaration = z.object({
  kind: z.enum(declarationKinds),
  name: z.string(),
  signature: z.string(),
  supertypes: z.array(z.object({ relation: z.enum(relations), type: z.string() })).optional(),
  members: z.array(member).optional(),
  /** Missing in surfaces of older server versions. */
  hasDefaultConstructor: z.boolean().optional(),
})

const reexport = z.object({ uri: z.string(), combinators: z.array(z.object({ shows: z.boolean(), names: z.array(z.string()) })) })

const files = z.array(
  z.object({
    path: z.string(),
    imports: z.array(z.object({ uri: z.string(), conditions: z.array(z.object({ condition: z.string(), uri: z.string() })) })),
  }),
)

/** The part of a stored API surface that is needed to follow imports into a package. */
const importsSchema = z.object({ files: files.optional() })

/** Summary of a public API as JSON: the data for comparing two versions and for following imports into the package. */
export const surfaceSchema = z.object({
  format: z.literal(1),
  /** All declarations. Each is contained once, even if several libraries export the same declaration. */
  declarations: z.array(declaration),
  /** The exports of each library below `lib/`, as indexes into `declarations`. */
  libraries: z.array(
    z.object({
      path: z.string(),
      shows: z.array(z.number().int().nonnegative()),
      foreignExports: z.array(z.string()),
      /** Missing in surfaces of older server versions. */
      reexports: z.array(reexport).optional(),
    }),
  ),
  /** Types that no library exports but that public types inherit from or mention. Missing in surfaces of older server versions. */
  hidden: z.array(declaration).optional(),
  /** Imports of the libraries below `lib/`. Missing in surfaces of older server versions. */
  files: files.optional(),
  /** Set if declarations are missing, because files exceeded a limit or have unknown syntax. */
  isIncomplete: z.literal(true).optional(),
})
export type Surface = z.infer<typeof surfaceSchema>
export type SurfaceDeclaration = z.infer<typeof declaration>
export type SurfaceMember = z.infer<typeof member>

/** Converts an API to the form that is stored, without documentation and source locations. */
export function surfaceOf({ libraries, hidden, files: read }: Pick<Api, 'libraries' | 'hidden' | 'files'>, isIncomplete = false): Surface {
  const declarations = [...new Set(libraries.flatMap((library) => library.declarations))]
  const places = new Map(declarations.map((each, place) => [each, place]))
  return {
    format: 1,
    declarations: declarations.map(outlined),
    libraries: libraries.map(({ path, declarations: own, foreignExports, reexports }) => ({
      path,
      shows: own.flatMap((each) => places.get(each) ?? []),
      foreignExports,
      reexports,
    })),
    hidden: hiddenDependencies(declarations, hidden),
    files: read.map(({ path, imports }) => ({ path, imports: imports.map(({ uri, conditions }) => ({ uri, conditions })) })),
    ...(isIncomplete && { isIncomplete }),
  }
}

/** Returns the hidden types that public types inherit from, with their members, and the hidden types that signatures mention, without members. */
function hiddenDependencies(declarations: readonly Declaration[], hidden: readonly Declaration[]): SurfaceDeclaration[] {
  const byName = Map.groupBy(hidden, ({ name }) => name)
  const inherited = new Set<Declaration>()
  for (const each of [declarations, inherited]) {
    for (const { supertypes } of each)
      for (const { type } of supertypes) for (const found of typesNamedIn(type, byName)) inherited.add(found)
  }
  const mentioned = new Set<Declaration>(inherited)
  const take = ({ signature, supertypes, members }: Declaration, isWhole: boolean) => {
    const texts = [signature, ...supertypes.map(({ type }) => type), ...(isWhole ? members.map((member) => member.signature) : [])]
    for (const text of texts) for (const found of typesNamedIn(text, byName)) mentioned.add(found)
  }
  for (const each of declarations) take(each, true)
  for (const each of mentioned) take(each, inherited.has(each))
  return [...mentioned].map((each) => outlined(inherited.has(each) ? each : { ...each, members: [] }))
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

/** Stored data of another package. `surface` is its surface as gzipped JSON; null if it has not been analyzed yet. */
export type StoredPackage = Omit<KnownPackage, 'files'> & { surface: Uint8Array | null }

const maxSurfaceBytes = 64 * 1024 ** 2

/** Reads a gzipped surface, or the part of it that the schema describes. Returns null for the format of another server version. */
export function readSurface<T>(gzipped: Uint8Array, schema: z.ZodType<T>): T | null {
  try {
    const json: unknown = JSON.parse(gunzipSync(gzipped, { maxOutputLength: maxSurfaceBytes }).toString())
    return schema.safeParse(json).data ?? null
  } catch {
    return null
  }
}

/** Reads a gzipped surface for a comparison. Returns null if it is incomplete or has the format of another server version. */
export function readComplete(gzipped: Uint8Array): Surface | null {
  const surface = readSurface(gzipped, surfaceSchema)
  return surface?.isIncomplete ? null : surface
}

/** Reads the imports of other packages. */
export function readPackages(packages: Readonly<Record<string, StoredPackage>>): Map<string, KnownPackage> {
  return new Map(
    Object.entries(packages).map(([name, { surface, ...data }]) => {
      const imports = surface && readSurface(surface, importsSchema)?.files
      return [name, { ...data, files: imports ? new Map(imports.map((file) => [file.path, file.imports])) : null }]
    }),
  )
}
