import type { EntityManager } from '@mikro-orm/sql'
import type { ExpressionBuilder } from 'kysely'
import { audit } from '../../accounts/audit/service.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { db, type Tables } from '../../platform/db/query.ts'
import { changeRows, containing, isAmong, lockNamed, readRows } from '../../platform/db/statements.ts'
import { notFound, packageRejected, conflict } from '../../errors.ts'
import { User } from '../../accounts/users/entity.ts'
import type { UpstreamClaim } from '../mirror/catalog/names.ts'
import { ConfusableName, ReservedName } from './entity.ts'
import { raw } from '@mikro-orm/core'
import { inOrderOf, type PageArguments } from '../../platform/graphql/connections.ts'
import { batched } from '../../platform/db/batched.ts'

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789_'

/** Returns a package name without underscores and digits. Names with the same skeleton differ only in those characters. */
export const skeletonOf = (name: string): string => name.replace(/[_0-9]/g, '')

/** Returns all strings that differ from a name by one edit (a character removed, added, replaced or swapped); at most 4,900. */
export function oneEditAway(name: string): string[] {
  const edits = new Set<string>()
  for (let at = 0; at <= name.length; at++) {
    const [before, here, after] = [name.slice(0, at), name.slice(at, at + 1), name.slice(at + 1)]
    for (const letter of alphabet) {
      edits.add(before + letter + here + after)
      if (here) edits.add(before + letter + after)
    }
    if (here) edits.add(before + after)
    if (after) edits.add(before + after.slice(0, 1) + here + after.slice(1))
  }
  edits.delete(name)
  return [...edits]
}

type Author = Pick<SignedInContext, 'viewer' | 'now'>

const maxShown = 5
const requestMs = 30 * 24 * 3_600_000

/** Returns at most five names of existing or deleted packages that differ from a name by one edit, or only in underscores and digits. */
export async function similarNames(em: EntityManager, name: string): Promise<string[]> {
  const edits = oneEditAway(name)
  const packages = db.selectFrom('packages as p').select('p.name')
  const reserved = db.selectFrom('reserved_names as r').select('r.name')
  const ofPackages = packages.where('p.skeleton', '=', skeletonOf(name)).where('p.name', '<>', name).limit(maxShown)
  const ofReserved = reserved.where('r.skeleton', '=', skeletonOf(name)).where('r.name', '<>', name).limit(maxShown)
  const rows = await readRows(
    em,
    db
      .selectFrom(ofPackages.as('p'))
      .select('p.name')
      .union(packages.where(({ ref }) => isAmong(em, ref('p.name'), edits)))
      .union(db.selectFrom(ofReserved.as('r')).select('r.name'))
      .union(reserved.where(({ ref }) => isAmong(em, ref('r.name'), edits)))
      .orderBy('name')
      .limit(maxShown),
  )
  return rows.map((row) => row.name)
}

/** A package name that is not used yet. `claim` is null if an administrator had approved the name for use in spite of the mirrored server. */
export type NewName = { name: string; claim: UpstreamClaim | null }

/** Returns whether an administrator has approved a name even if the mirrored server has a package with it. */
export const isUpstreamApproved = async (em: EntityManager, name: string): Promise<boolean> =>
  (await em.count(ConfusableName, { name, approvedAt: { $ne: null }, isUpstreamApproved: true })) > 0

/**
 * Records a request for approval of a new name, if it needs approval: because of the mirrored server, or because it is similar to others.
 * @throws ApiError PackageRejected if the name needs approval and is not approved yet.
 */
export async function requireApproval(context: SignedInContext, { name, claim }: NewName): Promise<void> {
  const { em, viewer, now, config } = context
  const reason = claim?.reason ?? null
  if (reason === null && config.CONFUSABLE_NAMES !== 'review') return
  const similar = await similarNames(em, name)
  if (reason === null && (similar.length === 0 || (await isApproved(em, name)))) return
  await em.fork().transactional(async (inner) => {
    // Delete expired requests.
    const expired = db
      .deleteFrom('confusable_names')
      .where('approved_at', 'is', null)
      .where('noticed_at', '<', new Date(now().getTime() - requestMs))
    await changeRows(inner, expired.where(isUnpublished))
    await recordConfusableName(inner, { viewer, now }, { name, similar, claim })
  })
  throw awaitingApproval(name, similar, reason)
}

/** Serializes changes to which names are in use, until the end of the transaction. */
export const lockNewNames = (em: EntityManager): Promise<void> => lockNamed(em, 'new package names')

/**
 * Returns the names that a package being created could be confused with, including its own if the mirrored server has a package with it; none once
 * approved. A lock serializes concurrent creations.
 * @throws ApiError PackageRejected if the name needs approval and is not approved.
 */
export async function checkNewName(em: EntityManager, context: SignedInContext, { name, claim }: NewName): Promise<string[]> {
  const { viewer, config, now } = context
  await lockNewNames(em)
  const reason = claim === null && !(await isUpstreamApproved(em, name)) ? 'its approval was revoked a moment ago' : (claim?.reason ?? null)
  const similar = await similarNames(em, name)
  if (reason !== null) throw awaitingApproval(name, similar, reason)
  const confusable = [...(claim?.isUpstream ? [name] : []), ...similar]
  if (await isApproved(em, name)) return []
  // A request for the name may have become unnecessary.
  if (confusable.length === 0) await deleteConfusableName(em, name)
  if (confusable.length === 0) return []
  if (config.CONFUSABLE_NAMES === 'review' && similar.length > 0) throw awaitingApproval(name, similar, null)
  await recordConfusableName(em, { viewer, now }, { name, similar, claim })
  return confusable
}

/** Returns the warning to show after publishing under a confusable name, or an empty string. `confusable` is the result of `checkNewName`. */
export function confusionWarning(name: string, confusable: readonly string[], urls: { upstream: string | undefined; own: string }): string {
  const similar = confusable.filter((other) => other !== name)
  const upstream = confusable.includes(name)
    ? ` Warning: ${urls.upstream} also has a package named ${name}. To depend on this one, write "hosted: ${urls.own}".`
    : ''
  return similar.length > 0
    ? `${upstream} Warning: this name could be confused with ${similar.join(', ')}. Make sure that it is the name you meant.`
    : upstream
}

/** Deletes the record of a confusable name, when its package is deleted. */
export const deleteConfusableName = (em: EntityManager, name: string): Promise<number> => em.nativeDelete(ConfusableName, { name })

/**
 * Approves a name that is confusable or that the mirrored server has, requested or not, so that packages can be published under it without a warning.
 * Requires a server admin.
 */
export function approveName({ em, viewer, ip, now, config }: SignedInContext, name: string): Promise<void> {
  return em.fork().transactional(async (inner) => {
    const isMirroring = config.UPSTREAM_URL !== undefined
    if (await (isMirroring ? isUpstreamApproved(inner, name) : isApproved(inner, name))) return
    await markApproved(inner, { viewer, now }, { name, isUpstreamApproved: isMirroring })
    auditDecision(inner, { viewer, ip }, 'approved', name)
  })
}

type Approval = Pick<ConfusableName, 'name' | 'isUpstreamApproved'>

async function markApproved(em: EntityManager, { viewer, now }: Author, approval: Approval): Promise<void> {
  const moment = now()
  await em.upsert(
    ConfusableName,
    { ...approval, similarNames: '', noticedAt: moment, approvedAt: moment, approvedBy: em.getReference(User, viewer.id) },
    { onConflictMergeFields: ['approvedAt', 'approvedBy', 'isUpstreamApproved'] },
  )
}

/**
 * Rejects the request for a name, or revokes its approval, while no package has the name. Requires a server admin.
 * @throws ApiError NotFound if there is neither a request nor an approval.
 */
export function rejectName({ em, viewer, ip }: SignedInContext, name: string): Promise<void> {
  return em.fork().transactional(async (inner) => {
    await lockNewNames(inner)
    const gone = await changeRows(inner, db.deleteFrom('confusable_names').where('name', '=', name).where(isUnpublished))
    if (gone === 0) throw notFound(`There is no request for the name ${name}.`)
    auditDecision(inner, { viewer, ip }, 'rejected', name)
  })
}

type Decision = 'approved' | 'rejected' | 'freed'

function auditDecision(em: EntityManager, { viewer, ip }: Pick<SignedInContext, 'viewer' | 'ip'>, verb: Decision, name: string): void {
  const summary = `${viewer.displayName} ${verb} the name ${name}`
  audit(em, { kind: `package.name_${verb}`, actor: viewer, summary, package: name, ip })
}

const isUnpublished = ({ not, exists, selectFrom }: ExpressionBuilder<Tables, 'confusable_names'>) =>
  not(exists(selectFrom('packages as p').select('p.id').whereRef('p.name', '=', 'confusable_names.name')))

const isApproved = async (em: EntityManager, name: string) => (await em.count(ConfusableName, { name, approvedAt: { $ne: null } })) > 0

/** Records a name that is not approved. Replaces an approval that does not apply to the mirrored server. */
async function recordConfusableName(em: EntityManager, { viewer, now }: Author, { name, claim, similar }: NewName & { similar: string[] }) {
  const similarNames = [...(claim?.isUpstream ? [name] : []), ...similar].join(' ')
  const requestedBy = viewer.isCiJob ? null : em.getReference(User, viewer.id)
  const request = { similarNames, noticedAt: now(), upstreamReason: claim?.reason ?? null, requestedBy }
  const onConflictMergeFields = ['similarNames', 'noticedAt', 'upstreamReason', 'requestedBy', 'approvedAt', 'approvedBy'] as const
  const unapproved = { name, ...request, approvedAt: null, approvedBy: null }
  await em.upsert(ConfusableName, unapproved, { onConflictMergeFields: [...onConflictMergeFields] })
}

const howToContinue = 'They see your request under Administration, Names. Publish again once it is approved.'

const awaitingApproval = (name: string, similar: readonly string[], upstreamReason: string | null) =>
  packageRejected(
    upstreamReason === null
      ? `The name ${name} could be confused with ${similar.join(', ')}, so an administrator of this server must approve it first. ${howToContinue}`
      : `An administrator of this server must approve the name ${name} first: ${upstreamReason}. ${howToContinue}`,
  )

/** Reserves the name of a package that is being deleted, in the transaction of `em`. */
export async function reserveName(em: EntityManager, { viewer, now }: Author, name: string): Promise<void> {
  await em.upsert(ReservedName, { name, skeleton: skeletonOf(name), reservedAt: now(), reservedBy: em.getReference(User, viewer.id) })
}

/** Releases the name of a package that is being restored, in the transaction of `em`. */
export const releaseName = (em: EntityManager, name: string): Promise<number> => em.nativeDelete(ReservedName, { name })

/** Throws Conflict if the name is reserved. */
export async function rejectReserved(em: EntityManager, name: string): Promise<void> {
  if (await em.count(ReservedName, { name }))
    throw conflict(
      `The name ${name} is reserved: a package of this name was deleted. Ask an administrator of this server to free the name.`,
    )
}

/**
 * Frees the name of a deleted package, and approves it in spite of similar names. Numbers of deleted versions remain unusable. Requires a server admin.
 * @throws ApiError NotFound if the name is not reserved.
 */
export function freeName(context: SignedInContext, name: string): Promise<void> {
  return context.em.fork().transactional(async (inner) => {
    if (!(await releaseName(inner, name))) throw notFound(`The name ${name} is not reserved.`)
    await recordFreedName(inner, context, name)
  })
}

/** Approves and audits a name that is no longer reserved, in the transaction of `em`. The approval does not apply to the mirrored server. */
export async function recordFreedName(em: EntityManager, author: Author & { ip: string }, name: string): Promise<void> {
  await markApproved(em, author, { name, isUpstreamApproved: false })
  auditDecision(em, author, 'freed', name)
}

type Page = PageArguments & { q?: string | null | undefined; offset?: number | null | undefined }

/** Returns the reserved names in order, as a connection. `q` filters by part of the name. */
export const listReserved = (em: EntityManager, { q, ...page }: Page) => inOrderOf(em, ReservedName, 'name', contains(q), page)

/** Returns the unapproved confusable names in order, as a connection. `q` filters by part of the name. */
export const listConfusable = (em: EntityManager, { q, ...page }: Page) =>
  inOrderOf(em, ConfusableName, 'name', { approvedAt: null, ...contains(q) }, page)

/** Loads the similar names by package name; null if no names are similar or an administrator approved the name. */
export const loadConfusion = batched(async (em, names) => {
  const rows = await em.find(ConfusableName, { name: { $in: names }, approvedAt: null })
  return new Map(rows.map(({ name, similarNames }) => [name, similarNames.split(' ')]))
})

export const loadReserved = batched(async (em, names) => {
  const rows = await em.find(ReservedName, { name: { $in: names } })
  return new Map(rows.map((row) => [row.name, row]))
})

const contains = (text: Page['q']) => (text ? { [raw((alias) => `${alias}.name like ? escape '!'`, [containing(text)])]: [] } : {})
