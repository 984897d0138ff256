import { builder } from '../builder.ts'
import type { Package, PackageVersion, VersionDocument } from './entity.ts'

/** The types of packages, known before they are described, since they name each other. */
export const PackageRef = builder.objectRef<Package>('Package')
export const PackageVersionRef = builder.objectRef<PackageVersion>('PackageVersion')
export const DocumentRef = builder.objectRef<{ document: VersionDocument; version: PackageVersion }>('PackageDocument')
