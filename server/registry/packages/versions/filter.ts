import type { FilterQuery } from '@mikro-orm/core'
import { raw } from '@mikro-orm/sql'
import { invalidInput } from '../../../errors.ts'
import { type Constraint, parseConstraint } from '../../../platform/pub/constraint.ts'
import type { PackageVersion } from '../entity.ts'
import { versionKey } from '../../../platform/pub/sort-key.ts'
import { parseVersion } from '../../../platform/pub/version.ts'

/**
 * Returns a query filter for the versions that a constraint such as `^1.2.0` or `>=1.0.0 <2.0.0` allows, or whose number contains the text. A
 * constraint becomes a range of sort keys, which an index serves.
 * @throws ApiError InvalidInput if the text is neither a constraint nor part of a version.
 */
export function versionsLike(filter: string): FilterQuery<PackageVersion> {
  const text = filter.trim()
  const constraint = /^[\^<>=]|^any$/.test(text) ? parseConstraint(text.replace(/^=+\s*/, '')) : null
  if (constraint && boundsAreCanonical(constraint)) return sortKeyRange(constraint)
  if (/^[0-9A-Za-z.+-]{0,64}$/.test(text)) return { [raw((alias) => `lower(${alias}.version)`)]: { $like: `%${text.toLowerCase()}%` } }
  throw invalidInput('filter: must be part of a version, or a constraint such as ^1.2.0 or >=1.0.0 <2.0.0.', 'filter')
}

function sortKeyRange({ min, max }: Constraint): FilterQuery<PackageVersion> {
  const from = min && { [min.included ? '$gte' : '$gt']: versionKey(min.version.text) }
  const to = max && { [max.included ? '$lte' : '$lt']: versionKey(max.version.text) }
  return from || to ? { sortKey: { ...from, ...to } } : {}
}

/** Whether the bounds are canonical. Constraints may contain leading zeros, but versions on this server never do. */
const boundsAreCanonical = ({ min, max }: Constraint) => [min, max].every((bound) => !bound || parseVersion(bound.version.text))
