import { insufficientPermissions, notFound } from '../../errors.ts'
import type { Context } from '../../platform/access/context.ts'
import { requireScope, unauthenticated } from '../../platform/access/guards.ts'
import { holdsScope } from '../../platform/access/policy.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { matchesName } from '../../platform/pub/package-name.ts'
import type { Config } from '../../platform/config/config.ts'

/** Whether there is a mirror that the caller may read. */
export const canReadMirror = (context: Context): boolean =>
  context.config.UPSTREAM_URL !== undefined && (context.viewer ? holdsScope(context, 'read') : context.config.UPSTREAM_ACCESS === 'open')

/** Checks that the caller may read the mirror: with the scope `read`, or anyone with UPSTREAM_ACCESS=open. @throws ApiError */
export function requireMirror(context: Context): void {
  if (context.viewer) requireScope(context, 'read')
  else if (context.config.UPSTREAM_ACCESS !== 'open') throw unauthenticated(context)
}

/** SQL expression that is true if a name belongs to this server: of a package, or reserved after a deletion. Binds the name twice. */
export const isOwnSql = '(exists (select 1 from packages where name = ?) or exists (select 1 from reserved_names where name = ?))'

/** Returns whether UPSTREAM_NEVER excludes a name from the mirror. */
export function isExcluded({ UPSTREAM_NEVER }: Pick<Config, 'UPSTREAM_NEVER'>, name: string): boolean {
  return UPSTREAM_NEVER.some((pattern) => matchesName(pattern, name))
}

/**
 * Returns the error for a name that is never taken from the upstream server. The package client prints the message of a 403. Callers who are not
 * signed in do not learn that the name exists here.
 */
export function ownNameError(context: Context, name: string, isHosted: boolean) {
  const { request, viewer, config } = context
  if (!viewer) return notFound(`There is no package ${name} on ${config.UPSTREAM_URL}.`)
  const hosted = `hosted: ${publicUrl(request, config.SERVER_URL)}`
  return insufficientPermissions(
    isHosted
      ? `${name} is hosted here: write "${hosted}" for this dependency in pubspec.yaml.`
      : `${name} is never taken from ${config.UPSTREAM_URL} (UPSTREAM_NEVER). If it is hosted here, write "${hosted}" for this dependency in pubspec.yaml.`,
  )
}
