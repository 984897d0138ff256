import type { Context } from '../../platform/access/context.ts'
import { packageParameter, unknownPackage, unknownVersion, versionParameter } from './parameters.ts'

const noPackage = ({ request }: Context) => unknownPackage(packageParameter(request))

const noVersion = ({ request }: Context) => unknownVersion(packageParameter(request), versionParameter(request))

/** Options for routes below a package: 400 for an invalid name, 404 for a package that does not exist. */
export const ofPackage = { required: { package: noPackage } }

/** Options for routes below a version: 400 for an invalid name or version, 404 for a package or version that does not exist. */
export const ofVersion = { required: { package: noPackage, 'package.version': noVersion } }

/** Options for routes about the displayed version: 404 if the caller can read no version of the package. */
export const ofDisplayedVersion = { required: { package: noPackage, 'package.displayedVersion': noPackage } }
