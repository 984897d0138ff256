import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { invalidInput, notFound } from '../errors.ts'
import { isPackageName, nameRule } from '../pub/package-name.ts'
import { parseVersion } from '../pub/version.ts'

const noName = `A package name ${nameRule}.`

/** The name of a package that may be there. */
export const packageName = z.string().refine(isPackageName, noName)

/**
 * The package that a path names. Percent-decoding is done; what could not be a name never reaches a query.
 * @throws ApiError InvalidInput.
 */
export function packageParameter(request: FastifyRequest): string {
  const { pkg = '' } = request.params as Record<string, string>
  if (isPackageName(pkg)) return pkg
  throw invalidInput(noName, 'pkg')
}

/**
 * The version that a path names, in its canonical form.
 * @throws ApiError InvalidInput.
 */
export function versionParameter(request: FastifyRequest): string {
  const { version = '' } = request.params as Record<string, string>
  if (parseVersion(version)) return version
  throw invalidInput('A version is three numbers with an optional pre-release and build, such as 1.2.3-dev.1+4.', 'version')
}

/** 404 for a package that is not there. */
export const unknownPackage = (name: string) => notFound(`There is no package ${name} on this server.`)

/** 404 for a version that is not there. */
export const unknownVersion = (name: string, version: string) => notFound(`There is no ${name} ${version} on this server.`)
