import { raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { inOrderOf, type PageArguments } from '../../platform/graphql/connections.ts'
import { containing } from '../../platform/db/statements.ts'
import { batched } from '../../platform/db/batched.ts'
import { ConfusableName, ReservedName } from './entity.ts'

type Page = PageArguments & { q?: string | null | undefined; offset?: number | null | undefined }

/** Returns the reserved names in order, as a connection. `q` filters by part of the name. */
export const listReserved = (em: EntityManager, { q, ...page }: Page) =>
  inOrderOf(em, ReservedName, 'name', { $and: [q ? { [contains(q)]: [] } : {}] }, page)

/** Returns the unapproved confusable names in order, as a connection. `q` filters by part of the name. */
export const listConfusable = (em: EntityManager, { q, ...page }: Page) =>
  inOrderOf(em, ConfusableName, 'name', { $and: [{ approvedAt: null }, q ? { [contains(q)]: [] } : {}] }, page)

/** Loads the similar names by package name; null if no names are similar or an administrator approved the name. */
export const loadConfusion = batched(async (em, names) => {
  const rows = await em.find(ConfusableName, { name: { $in: names }, approvedAt: null })
  return new Map(rows.map(({ name, similarNames }) => [name, similarNames.split(' ')]))
})

/** Loads reservations by name. */
export const loadReserved = batched(async (em, names) => {
  const rows = await em.find(ReservedName, { name: { $in: names } })
  return new Map(rows.map((row) => [row.name, row]))
})

const contains = (text: string) => raw((alias) => `${alias}.name like ? escape '!'`, [containing(text)])
