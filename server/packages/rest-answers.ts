import type { Context } from '../access/context.ts'
import { packageParameter, unknownPackage, unknownVersion, versionParameter } from './parameters.ts'

const noPackage = ({ request }: Context) => unknownPackage(packageParameter(request))

const noVersion = ({ request }: Context) => unknownVersion(packageParameter(request), versionParameter(request))

/** Routes below a package: 400 for what is not a name, 404 for a package that does not exist. */
export const ofPackage = { required: { package: noPackage } }

/** Routes below a version: 400 and 404 likewise. */
export const ofVersion = { required: { package: noPackage, 'package.version': noVersion } }

/** Routes about the displayed version. A package of which the caller may read no version does not exist for them. */
export const ofDisplayedVersion = { required: { package: noPackage, 'package.displayedVersion': noPackage } }
