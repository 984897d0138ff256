import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { loadPackage } from './service.ts'
import { builder } from '../../platform/graphql/builder.ts'
import { payload } from '../../platform/graphql/payload.ts'
import type { Dependency } from '../archive/dependencies.ts'
import type { Package, PackageVersion, Visibility } from './entity.ts'
import { canSee } from './policy.ts'
import type { Document } from './versions/documents.ts'

/** GraphQL references for packages and versions. Declared before the types are implemented, because the types refer to each other. */
export const PackageRef = builder.objectRef<Package>('Package')
export const PackageVersionRef = builder.objectRef<PackageVersion>('PackageVersion')

/** Options for a field of `Package` that anonymous callers can read if the package is public. Other fields require the scope `read`. */
export const ofPublicPackage = {
  skipTypeScopes: true,
  authScopes: (pkg: Package) => (canSee('public', pkg) ? { browse: true } : ({ scope: 'read' } as const)),
}

/** Options for a field of a version or document that anonymous callers can read. They never obtain a version that is hidden from them. */
export const ofPublicVersion = { skipTypeScopes: true, authScopes: { browse: true } }

export const VisibilityEnum = builder.enumType('Visibility', {
  description: 'Who can read a package.',
  values: {
    PRIVATE: { value: 'private', description: 'All signed-in users.' },
    PUBLIC: { value: 'public', description: 'Everyone, if the server allows reading without signing in.' },
  } satisfies Record<Uppercase<Visibility>, { value: Visibility; description: string }>,
})

/** Field of a row that names a package by id. */
export const packageOfRow = {
  type: PackageRef,
  nullable: true,
  description: 'The package; null when it has just been deleted.',
  resolve: ({ packageId }: { packageId: string }, _args: object, context: Context) => loadPackage(context, packageId),
} as const

/** GraphQL reference for documents. Declared before the type is implemented, because other types refer to it. */
export const DocumentRef = builder.objectRef<Document>('PackageDocument')

/** GraphQL reference for dependencies. Declared before the type is implemented, because other types refer to it. */
export const DependencyRef = builder.objectRef<Dependency>('Dependency')

export const DependencyKind = builder.enumType('DependencyKind', {
  description: 'Kind of a dependency.',
  values: {
    DIRECT: { value: 'direct', description: 'Required by all users of the package.' },
    DEV: { value: 'dev', description: 'Required only to develop the package itself (dev dependency).' },
  } satisfies Record<Uppercase<Dependency['kind']>, { value: Dependency['kind']; description: string }>,
})

export const ChainRef = builder.objectRef<string[]>('DependencyChain').implement({
  description: 'A chain of dependencies: the first package depends on the second, and so on.',
  fields: (t) => ({ names: t.stringList({ description: 'Names of the packages.', resolve: (chain) => chain }) }),
})

type MarkMutation = { name: string; isMarked: boolean; description: string }

/** Adds mutations that mark a package for the caller, and that remove the mark. `type` is the start of the names of their input and result. */
export function addMarkMutations(
  type: string,
  about: string,
  setMark: (context: SignedInContext, name: string, isMarked: boolean) => Promise<Package>,
  mutations: MarkMutation[],
): void {
  const input = builder.inputType(`${type}Input`, {
    description: about,
    fields: (t) => ({
      package: t.string({ required: true, description: 'Name of the package.', extensions: { maxLength: 64 } }),
    }),
  })
  const result = payload(`${type}Payload`, 'The package after the change.', {
    package: { type: PackageRef, description: 'The package.' },
  })
  for (const { name, isMarked, description } of mutations)
    builder.mutationField(name, (t) =>
      t.withAuth({ scope: 'read' }).field({
        type: result,
        description,
        args: { input: t.arg({ type: input, required: true, description: 'The package.' }) },
        resolve: async (_root, args, context) => ({ package: await setMark(context, args.input.package, isMarked) }),
      }),
    )
}
