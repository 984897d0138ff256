import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { invalidInput, notFound } from '../../errors.ts'
import { isPackageName, nameRule } from '../../platform/pub/package-name.ts'
import { parseVersion } from '../../platform/pub/version.ts'
import type { Context } from '../../platform/access/context.ts'

const noName = `A package name ${nameRule}.`

/** A syntactically valid package name; the package need not exist. */
export const packageName = z.string().refine(isPackageName, noName)

/** Returns the package name from the path. Throws InvalidInput for an invalid name, before it reaches a query. */
export function packageParameter(request: FastifyRequest): string {
  const { pkg = '' } = request.params as Record<string, string>
  if (isPackageName(pkg)) return pkg
  throw invalidInput(noName, 'pkg')
}

/** Returns the version from the path. Throws InvalidInput unless it is in canonical form. */
export function versionParameter(request: FastifyRequest): string {
  const { version = '' } = request.params as Record<string, string>
  if (parseVersion(version)) return version
  throw invalidInput('A version is three numbers with an optional pre-release and build, such as 1.2.3-dev.1+4.', 'version')
}

export const unknownPackage = (name: string) => notFound(`There is no package ${name} on this server.`)

export const unknownVersion = (name: string, version: string) => notFound(`There is no ${name} ${version} on this server.`)

const noPackage = ({ request }: Context) => unknownPackage(packageParameter(request))

const noVersion = ({ request }: Context) => unknownVersion(packageParameter(request), versionParameter(request))

/** Options for routes below a package: 400 for an invalid name, 404 for a package that does not exist. */
export const ofPackage = { required: { package: noPackage } }

/** Options for routes below a version: 400 for an invalid name or version, 404 for a package or version that does not exist. */
export const ofVersion = { required: { package: noPackage, 'package.version': noVersion } }

/** Options for routes about the displayed version: 404 if the caller can read no version of the package. */
export const ofDisplayedVersion = { required: { package: noPackage, 'package.displayedVersion': noPackage } }
