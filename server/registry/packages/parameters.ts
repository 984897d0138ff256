import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { invalidInput, notFound } from '../../errors.ts'
import { isPackageName, nameRule } from '../../platform/pub/package-name.ts'
import { parseVersion } from '../../platform/pub/version.ts'

const noName = `A package name ${nameRule}.`

/** A syntactically valid package name; the package need not exist. */
export const packageName = z.string().refine(isPackageName, noName)

/**
 * Returns the package name from the path, already percent-decoded. Rejects invalid names before they reach a query.
 * @throws ApiError InvalidInput.
 */
export function packageParameter(request: FastifyRequest): string {
  const { pkg = '' } = request.params as Record<string, string>
  if (isPackageName(pkg)) return pkg
  throw invalidInput(noName, 'pkg')
}

/**
 * Returns the version from the path.
 * @throws ApiError InvalidInput unless the version is in canonical form.
 */
export function versionParameter(request: FastifyRequest): string {
  const { version = '' } = request.params as Record<string, string>
  if (parseVersion(version)) return version
  throw invalidInput('A version is three numbers with an optional pre-release and build, such as 1.2.3-dev.1+4.', 'version')
}

/** Returns a 404 error for a package that does not exist. */
export const unknownPackage = (name: string) => notFound(`There is no package ${name} on this server.`)

/** Returns a 404 error for a version that does not exist. */
export const unknownVersion = (name: string, version: string) => notFound(`There is no ${name} ${version} on this server.`)
