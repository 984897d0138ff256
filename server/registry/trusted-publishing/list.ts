import { batched } from '../../platform/db/batched.ts'
import { isSignedIn, type Context } from '../../platform/access/context.ts'
import { canAdminister } from '../packages/policy.ts'
import { canAdministerPublisher } from '../publishers/policy.ts'
import { TokenIssuer, TrustedPublisher, VersionProvenance } from './entity.ts'
import type { Provenance } from './provenance.ts'

const oldestFirst = { orderBy: { id: 'asc' }, populate: ['package', 'publisher'] } as const

const loadKnownIssuer = batched(async (em, ids) => new Map((await em.find(TokenIssuer, { id: { $in: ids } })).map((row) => [row.id, row])))

/** Loads the issuer of a rule. Every rule has one. */
export async function loadIssuer(context: Context, id: string): Promise<TokenIssuer> {
  const issuer = await loadKnownIssuer(context, id)
  if (!issuer) throw new Error(`The issuer ${id} has just been deleted`)
  return issuer
}

/** Loads the rules of a package by its id, oldest first. */
export const loadPackageRules = batched(async (em, ids) =>
  Map.groupBy(await em.find(TrustedPublisher, { package: { $in: ids } }, oldestFirst), ({ package: pkg }) => pkg?.id ?? ''),
)

/** Loads the rules of a publisher, oldest first. */
export const loadPublisherRules = batched(async (em, ids) =>
  Map.groupBy(await em.find(TrustedPublisher, { publisher: { $in: ids } }, oldestFirst), ({ publisher }) => publisher?.id ?? ''),
)

/** Returns a rule, or null if it does not exist or the caller does not administer its package or publisher. */
export async function loadRule(context: Context, id: string): Promise<TrustedPublisher | null> {
  const rule = isSignedIn(context) ? await context.em.findOne(TrustedPublisher, { id }, { populate: ['package', 'publisher'] }) : null
  return rule && isSignedIn(context) && (await canAdministerRule(context.em, context, rule)) ? rule : null
}

/** Allows changing a rule: for administrators of its package, or admins of its publisher. */
export async function canAdministerRule(
  em: Context['em'],
  actor: Parameters<typeof canAdminister>[1],
  { package: pkg, publisher }: TrustedPublisher,
): Promise<boolean> {
  if (publisher) return canAdministerPublisher(em, actor, publisher)
  return pkg ? canAdminister(em, actor, pkg) : false
}

/** Loads the provenance of a version; null if a person published it. */
export const loadProvenance = batched(async (em, ids) => {
  const rows = await em.find(VersionProvenance, { version: { $in: ids } })
  return new Map(rows.map(({ version, details }) => [version.id, JSON.parse(details) as Provenance]))
})
