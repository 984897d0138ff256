import { type FilterQuery, raw } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { anyText, pageByKey } from '../graphql/connections.ts'
import { containing } from '../db/contains.ts'
import { batched } from '../db/batched.ts'
import { ConfusableName, ReservedName } from './entity.ts'

type Page = Parameters<typeof pageByKey>[0] & { q?: string | null | undefined; offset?: number | null | undefined }

/** The reserved names, or those that contain a text, in order, as a connection. */
export function listReserved(em: EntityManager, { q, offset, ...page }: Page) {
  const where: FilterQuery<ReservedName> = { $and: [q ? { [contains(q)]: [] } : {}] }
  return pageByKey(page, {
    keyOf: ({ name }: ReservedName) => name,
    isKey: anyText,
    load: (limit, after) => em.find(ReservedName, { $and: [where, afterName(after)] }, { ...inOrder, limit, offset: offset ?? 0 }),
    count: () => em.count(ReservedName, where),
  })
}

/** The confusable names that no administrator approved yet, or those among them that contain a text, in order, as a connection. */
export function listConfusable(em: EntityManager, { q, offset, ...page }: Page) {
  const where: FilterQuery<ConfusableName> = { $and: [{ approvedAt: null }, q ? { [contains(q)]: [] } : {}] }
  return pageByKey(page, {
    keyOf: ({ name }: ConfusableName) => name,
    isKey: anyText,
    load: (limit, after) => em.find(ConfusableName, { $and: [where, afterName(after)] }, { ...inOrder, limit, offset: offset ?? 0 }),
    count: () => em.count(ConfusableName, where),
  })
}

/** The names that a package was noticed to be confusable with, by its name; null when there are none, or an administrator approved it. */
export const loadConfusion = batched(async (em, names) => {
  const rows = await em.find(ConfusableName, { name: { $in: names }, approvedAt: null })
  return new Map(rows.map(({ name, similarNames }) => [name, similarNames.split(' ')]))
})

/** The reservation of a name, or null. */
export const loadReserved = batched(async (em, names) => {
  const rows = await em.find(ReservedName, { name: { $in: names } })
  return new Map(rows.map((row) => [row.name, row]))
})

const inOrder = { orderBy: { name: 'asc' } } as const

const afterName = (name: string | undefined) => (name === undefined ? {} : { name: { $gt: name } })

const contains = (text: string) => raw((alias) => `${alias}.name like ? escape '!'`, [containing(text)])
