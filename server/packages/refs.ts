import { builder } from '../graphql/builder.ts'
import type { Package, PackageVersion } from './entity.ts'
import { canSee } from './policy.ts'

/** The types of packages, known before they are described, since they name each other. */
export const PackageRef = builder.objectRef<Package>('Package')
export const PackageVersionRef = builder.objectRef<PackageVersion>('PackageVersion')

/** Makes a field of a package readable by whoever may browse, when the package is public. Any other field is for people who signed in. */
export const ofPublicPackage = {
  skipTypeScopes: true,
  authScopes: (pkg: Package) => (canSee('public', pkg) ? { browse: true } : ({ scope: 'read' } as const)),
}

/** The same for a field of a version or its texts: whoever may browse gets hold of none that is not for them. */
export const ofPublicVersion = { skipTypeScopes: true, authScopes: { browse: true } }
