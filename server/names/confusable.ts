import type { EntityManager } from '@mikro-orm/sql'
import { audit } from '../audit/service.ts'
import type { Context, SignedInContext } from '../access/context.ts'
import { readRows } from '../db/statements.ts'
import { notFound, packageRejected } from '../errors.ts'
import { User } from '../users/entity.ts'
import { ConfusableName } from './entity.ts'
import { oneEditAway, skeletonOf } from './skeleton.ts'

const maxShown = 5
const requestMs = 30 * 24 * 3_600_000

/**
 * The names of packages, and the reserved ones of deleted packages, that a new name could be confused with: they differ from it by one letter
 * (added, left out, replaced or swapped), or by underscores and digits only. At most five, by name. Keyed look-ups only, of no more rows than that:
 * thousands may differ from each other by digits only.
 */
export async function similarNames(em: EntityManager, backend: Context['database']['backend'], name: string): Promise<string[]> {
  const texts = backend === 'sqlite' ? 'select value from json_each(?)' : 'select jsonb_array_elements_text(?::jsonb)'
  const edits = JSON.stringify(oneEditAway(name))
  const alike = (table: string) =>
    `select name from (select name from ${table} where skeleton = ? and name <> ? limit ${maxShown}) as of_${table}
     union select name from ${table} where name in (${texts})`
  const parameters = [skeletonOf(name), name, edits]
  // Bound, not written into the text: the edits are hundreds of kilobytes.
  const rows = await readRows<{ name: string }>(
    em,
    `${alike('packages')} union ${alike('reserved_names')} order by name limit ${maxShown}`,
    [...parameters, ...parameters],
  )
  return rows.map((row) => row.name)
}

/**
 * Whether a new name has to wait for an administrator. If so, the request is written down for them.
 * @throws ApiError PackageRejected with CONFUSABLE_NAMES=review, until the name is approved.
 */
export async function requireApproval({ em, viewer, config, database, now }: SignedInContext, name: string): Promise<void> {
  if (config.CONFUSABLE_NAMES !== 'review') return
  const similar = await similarNames(em, database.backend, name)
  if (similar.length === 0 || (await isApproved(em, name))) return
  await em.fork().transactional(async (inner) => {
    // Requests that nobody answered end at some time.
    await inner.execute(`delete from confusable_names where approved_at is null and noticed_at < ? and ${unpublished}`, [
      new Date(now().getTime() - requestMs),
    ])
    await notice(inner, { viewer, now }, name, similar)
  })
  throw awaitingApproval(name, similar)
}

/**
 * The names that a package being created now could be confused with, in the transaction of `em`; none once the name is approved.
 * Two new names wait for each other here, so that each sees the other.
 * @throws ApiError PackageRejected likewise.
 */
export async function judgeNewName(em: EntityManager, { viewer, config, database, now }: SignedInContext, name: string): Promise<string[]> {
  if (database.backend === 'postgres') await em.execute(`select pg_advisory_xact_lock(hashtext('new package names'))`)
  const similar = await similarNames(em, database.backend, name)
  if (similar.length === 0 || (await isApproved(em, name))) return []
  if (config.CONFUSABLE_NAMES === 'review') throw awaitingApproval(name, similar)
  await notice(em, { viewer, now }, name, similar)
  return similar
}

/** What the person who published hears about it; empty when there is nothing to say. */
export const confusionWarning = (similar: readonly string[]): string =>
  similar.length ? ` Warning: this name could be confused with ${similar.join(', ')}. Make sure that it is the name you meant.` : ''

/** Forgets what was noticed about a name, whose package goes. */
export const forgetName = (em: EntityManager, name: string): Promise<number> => em.nativeDelete(ConfusableName, { name })

/**
 * Approves a name, for administrators: whoever waits for it may publish, and nobody is warned of it any more. A name may be approved before
 * anybody asks.
 */
export function approveName({ em, viewer, ip, now }: SignedInContext, name: string): Promise<void> {
  return em.fork().transactional(async (inner) => {
    if (await isApproved(inner, name)) return
    await markApproved(inner, { viewer, now }, name)
    const summary = `${viewer.displayName} approved the name ${name}`
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary, package: name, ip })
  })
}

/** Writes down that an administrator approved a name, in the transaction of `em`. */
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
 * Takes back what was noticed or approved about a name that no package has, for administrators. Whoever tries to publish under it asks again.
 * @throws ApiError NotFound when there is nothing of the kind.
 */
export function rejectName({ em, viewer, ip }: SignedInContext, name: string): Promise<void> {
  return em.fork().transactional(async (inner) => {
    const gone = await inner.execute<unknown[]>(`delete from confusable_names where name = ? and ${unpublished} returning name`, [name])
    if (gone.length === 0) throw notFound(`No package is waiting for the name ${name}.`)
    const summary = `${viewer.displayName} rejected the name ${name}`
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary, package: name, ip })
  })
}

const unpublished = 'not exists (select 1 from packages p where p.name = confusable_names.name)'

const isApproved = async (em: EntityManager, name: string) => (await em.count(ConfusableName, { name, approvedAt: { $ne: null } })) > 0

async function notice(
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
    `The name ${name} could be confused with ${similar.join(', ')}, so an administrator of this server has to approve it first. ` +
      'They see your request under Administration, Names. Publish again once it is approved.',
  )
