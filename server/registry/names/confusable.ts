import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../../accounts/audit/service.ts'
import type { Context, SignedInContext } from '../../platform/access/context.ts'
import { readRows } from '../../platform/db/statements.ts'
import { notFound, packageRejected } from '../../errors.ts'
import { User } from '../../accounts/users/entity.ts'
import { ConfusableName } from './entity.ts'
import { oneEditAway, skeletonOf } from './skeleton.ts'

const maxShown = 5
const requestMs = 30 * 24 * 3_600_000

/**
 * Returns at most five names of existing or deleted packages that a new name could be confused with, in order. Similar names differ by one character
 * (added, removed, replaced or swapped with its neighbor), or only in underscores and digits. Uses keyed lookups with a limit, because thousands of
 * names may differ only in digits.
 */
export async function similarNames(em: EntityManager, backend: Context['database']['backend'], name: string): Promise<string[]> {
  const texts = backend === 'sqlite' ? 'select value from json_each(?)' : 'select jsonb_array_elements_text(?::jsonb)'
  const edits = JSON.stringify(oneEditAway(name))
  const alike = (table: string) =>
    `select name from (select name from ${table} where skeleton = ? and name <> ? limit ${maxShown}) as of_${table}
     union select name from ${table} where name in (${texts})`
  const parameters = [skeletonOf(name), name, edits]
  // Bind the edits as one parameter: they are hundreds of kilobytes of JSON.
  const rows = await readRows<{ name: string }>(
    em,
    `${alike('packages')} union ${alike('reserved_names')} order by name limit ${maxShown}`,
    [...parameters, ...parameters],
  )
  return rows.map((row) => row.name)
}

/**
 * Requires approval by an administrator for a new name that is similar to existing names. Records the request for approval.
 * @throws ApiError PackageRejected if CONFUSABLE_NAMES=review and the name is not approved yet.
 */
export async function requireApproval({ em, viewer, config, database, now }: SignedInContext, name: string): Promise<void> {
  if (config.CONFUSABLE_NAMES !== 'review') return
  const similar = await similarNames(em, database.backend, name)
  if (similar.length === 0 || (await isApproved(em, name))) return
  await em.fork().transactional(async (inner) => {
    // Delete expired requests.
    await inner.execute(`delete from confusable_names where approved_at is null and noticed_at < ? and ${unpublished}`, [
      new Date(now().getTime() - requestMs),
    ])
    await recordConfusableName(inner, { viewer, now }, name, similar)
  })
  throw awaitingApproval(name, similar)
}

/**
 * Returns the names that a package being created could be confused with; an empty list once the name is approved. Runs in the transaction of `em`.
 * Concurrent creations are serialized by a lock, so that each sees the other's name.
 * @throws ApiError PackageRejected if CONFUSABLE_NAMES=review and the name is not approved yet.
 */
export async function checkNewName(em: EntityManager, { viewer, config, database, now }: SignedInContext, name: string): Promise<string[]> {
  if (database.backend === 'postgres') await em.execute(`select pg_advisory_xact_lock(hashtext('new package names'))`)
  const similar = await similarNames(em, database.backend, name)
  if (similar.length === 0 || (await isApproved(em, name))) return []
  if (config.CONFUSABLE_NAMES === 'review') throw awaitingApproval(name, similar)
  await recordConfusableName(em, { viewer, now }, name, similar)
  return similar
}

/** Returns the warning to show after publishing under a confusable name, or an empty string. */
export const confusionWarning = (similar: readonly string[]): string =>
  similar.length ? ` Warning: this name could be confused with ${similar.join(', ')}. Make sure that it is the name you meant.` : ''

/** Deletes the record of a confusable name, when its package is deleted. */
export const deleteConfusableName = (em: EntityManager, name: string): Promise<number> => em.nativeDelete(ConfusableName, { name })

/**
 * Approves a confusable name, so that packages can be published under it without a warning. Names can be approved before anyone requests them.
 * Requires a server admin.
 */
export function approveName({ em, viewer, ip, now }: SignedInContext, name: string): Promise<void> {
  return em.fork().transactional(async (inner) => {
    if (await isApproved(inner, name)) return
    await markApproved(inner, { viewer, now }, name)
    const summary = `${viewer.displayName} approved the name ${name}`
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary, package: name, ip })
  })
}

/** Records the approval of a name, in the transaction of `em`. */
export async function markApproved(
  em: EntityManager,
  { viewer, now }: Pick<SignedInContext, 'viewer' | 'now'>,
  name: string,
): Promise<void> {
  const moment = now()
  await em.upsert(
    ConfusableName,
    { name, similarNames: '', noticedAt: moment, approvedAt: moment, approvedBy: em.getReference(User, viewer.id) },
    { onConflictMergeFields: ['approvedAt', 'approvedBy'] },
  )
}

/**
 * Rejects the request for a name, or revokes its approval, while no package has the name. The next attempt to publish under it creates a new request.
 * Requires a server admin.
 * @throws ApiError NotFound if there is neither a request nor an approval.
 */
export function rejectName({ em, viewer, ip }: SignedInContext, name: string): Promise<void> {
  return em.fork().transactional(async (inner) => {
    const gone = await inner.execute<unknown[]>(`delete from confusable_names where name = ? and ${unpublished} returning name`, [name])
    if (gone.length === 0) throw notFound(`There is no request for the name ${name}.`)
    const summary = `${viewer.displayName} rejected the name ${name}`
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary, package: name, ip })
  })
}

const unpublished = 'not exists (select 1 from packages p where p.name = confusable_names.name)'

const isApproved = async (em: EntityManager, name: string) => (await em.count(ConfusableName, { name, approvedAt: { $ne: null } })) > 0

async function recordConfusableName(
  em: EntityManager,
  { viewer, now }: Pick<SignedInContext, 'viewer' | 'now'>,
  name: string,
  similar: readonly string[],
) {
  const row = { name, similarNames: similar.join(' '), noticedAt: now(), requestedBy: em.getReference(User, viewer.id) }
  await em.upsert(ConfusableName, row, { onConflictMergeFields: ['similarNames', 'noticedAt', 'requestedBy'] })
}

const awaitingApproval = (name: string, similar: readonly string[]) =>
  packageRejected(
    `The name ${name} could be confused with ${similar.join(', ')}, so an administrator of this server must approve it first. ` +
      'They see your request under Administration, Names. Publish again once it is approved.',
  )
