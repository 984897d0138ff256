import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import { User } from '../../accounts/users/entity.ts'
import { TokenIssuer, TrustedPublisher, VersionProvenance } from './entity.ts'

const moment = z.iso.datetime().transform((text) => new Date(text))

/** What is kept of the rules of a deleted package, as JSON. */
export const keptRules = z.array(
  z.object({
    id: z.uuid(),
    createdAt: moment,
    issuerId: z.uuid(),
    createdById: z.uuid().nullable(),
    label: z.string(),
    repository: z.string().nullable(),
    workflow: z.string().nullable(),
    environment: z.string().nullable(),
    events: z.string(),
    claims: z.string(),
    tagPattern: z.string().nullable(),
    isReadOnly: z.boolean(),
    lockedRepositoryId: z.string().nullable(),
    lockedOwnerId: z.string().nullable(),
  }),
)

/** Returns the rules of a package, to keep them when it is deleted. */
export async function readRulesToKeep(em: EntityManager, packageId: string): Promise<z.input<typeof keptRules>> {
  const rules = await em.find(TrustedPublisher, { package: packageId })
  return rules.map((rule) => ({
    id: rule.id,
    createdAt: rule.createdAt.toISOString(),
    issuerId: rule.issuer.id,
    createdById: rule.createdBy?.id ?? null,
    label: rule.label,
    repository: rule.repository ?? null,
    workflow: rule.workflow ?? null,
    environment: rule.environment ?? null,
    events: rule.events,
    claims: rule.claims,
    tagPattern: rule.tagPattern ?? null,
    isReadOnly: rule.isReadOnly,
    lockedRepositoryId: rule.lockedRepositoryId ?? null,
    lockedOwnerId: rule.lockedOwnerId ?? null,
  }))
}

/** Inserts the kept rules of a restored package, except those of CI systems that were removed. */
export async function restoreRules(em: EntityManager, packageId: string, kept: z.output<typeof keptRules>): Promise<void> {
  if (kept.length === 0) return
  const issuers = new Set((await em.find(TokenIssuer, {}, { fields: ['id'] })).map(({ id }) => id))
  const creators = kept.flatMap(({ createdById }) => createdById ?? [])
  const users = new Set((await em.find(User, { id: { $in: creators } }, { fields: ['id'] })).map(({ id }) => id))
  const rows = kept
    .filter(({ issuerId }) => issuers.has(issuerId))
    .map(({ issuerId, createdById, ...rule }) => {
      const createdBy = createdById !== null && users.has(createdById) ? createdById : null
      return { ...rule, issuer: issuerId, package: packageId, createdBy }
    })
  if (rows.length > 0) await em.insertMany(TrustedPublisher, rows)
}

/** Returns the provenances of versions by their ids, as they are stored. */
export async function readProvenances(em: EntityManager, versionIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await em.find(VersionProvenance, { version: { $in: [...versionIds] } })
  return new Map(rows.map(({ version, details }) => [version.id, details]))
}
