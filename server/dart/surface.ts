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

/** What comparing the public APIs of two versions needs, as JSON. */
export const surfaceSchema = z.object({
  format: z.literal(1),
  /** Each once, however many libraries show it. */
  declarations: z.array(declaration),
  /** What each library below `lib/` shows, as places in `declarations`. */
  libraries: z.array(z.object({ path: z.string(), shows: z.array(z.number().int().nonnegative()), foreignExports: z.array(z.string()) })),
})
export type Surface = z.infer<typeof surfaceSchema>
export type SurfaceDeclaration = z.infer<typeof declaration>
export type SurfaceMember = z.infer<typeof member>

/** The outline of an API: without documentation and places. */
export function surfaceOf({ libraries }: Pick<Api, 'libraries'>): Surface {
  const places = new Map<Declaration, number>()
  const shown = libraries.map(({ path, declarations, foreignExports }) => ({
    path,
    shows: declarations.map((each) => {
      const place = places.get(each) ?? places.size
      places.set(each, place)
      return place
    }),
    foreignExports,
  }))
  return { format: 1, declarations: [...places.keys()].map(outlined), libraries: shown }
}

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
