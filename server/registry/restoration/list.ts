import type { EntityManager } from '@mikro-orm/sql'
import { User } from '../../accounts/users/entity.ts'
import { batched } from '../../platform/db/batched.ts'
import { db } from '../../platform/db/query.ts'
import { readRows } from '../../platform/db/statements.ts'
import { Package } from '../packages/entity.ts'
import { Publisher } from '../publishers/entity.ts'
import { packageData, type PackageData } from './data.ts'
import { DeletedPackage, DeletedPackageVersion } from './entity.ts'

/** Versions of one entry that are shown. */
export const versionsShown = 20

/** Loads what is kept of a deleted package, by its id; nothing for a single version. */
export const loadKept = batched<PackageData>(readKept)

async function readKept(em: EntityManager, ids: string[]): Promise<Map<string, PackageData>> {
  const rows = await em.find(DeletedPackage, { id: { $in: ids }, isWhole: true }, { populate: ['data'], disableIdentityMap: true })
  return new Map(rows.map(({ id, data }) => [id, packageData.parse(JSON.parse(data))]))
}

export type Owners = { publisher: Publisher | null; uploaders: User[] }

/**
 * Loads what a package was owned by, by the id of the deletion: its publisher, and the uploaders whose accounts still exist, by e-mail address;
 * nothing for a single version.
 */
export const loadOwners = batched<Owners>(async (em, ids) => {
  const kept = await readKept(em, ids)
  const publisherIds = new Set([...kept.values()].flatMap(({ publisherId }) => publisherId ?? []))
  const uploaderIds = new Set([...kept.values()].flatMap((data) => data.uploaderIds))
  const publishers = publisherIds.size === 0 ? [] : await em.find(Publisher, { id: { $in: [...publisherIds] } })
  const users = await existingUsers(em, [...uploaderIds])
  const publisherOf = new Map(publishers.map((publisher) => [publisher.id, publisher]))
  return new Map(
    Array.from(kept, ([id, data]) => {
      const uploaders = new Set(data.uploaderIds)
      const publisher = data.publisherId === null ? undefined : publisherOf.get(data.publisherId)
      return [id, { publisher: publisher ?? null, uploaders: users.filter((user) => uploaders.has(user.id)) }]
    }),
  )
})

/** Returns the accounts with these ids that still exist, by e-mail address. */
export const existingUsers = async (em: EntityManager, ids: readonly string[]): Promise<User[]> =>
  ids.length === 0 ? [] : em.find(User, { id: { $in: [...ids] } }, { orderBy: { emailKey: 'asc' } })

export type KeptArchive = Pick<DeletedPackageVersion, 'version' | 'archiveBytes'>

/** Loads the versions that would come back, the newest first, by the id of the deletion. */
export const loadVersions = batched<KeptArchive[]>(async (em, ids) => {
  const fields = ['version', 'versionId', 'archiveBytes'] as const
  const rows = await em.find(
    DeletedPackageVersion,
    { deleted: { $in: ids } },
    { fields, orderBy: { versionId: 'desc' }, disableIdentityMap: true },
  )
  return Map.groupBy(rows, ({ deleted }) => deleted.id)
})

/** Loads why something deleted cannot be restored, by its id; null if it can. */
export const loadObstacle = batched<string>(async (em, ids) => {
  const rows = await em.find(DeletedPackage, { id: { $in: ids } }, { disableIdentityMap: true })
  const names = rows.map(({ name }) => name)
  const packages = await em.find(Package, { name: { $in: names } }, { fields: ['id', 'name'], disableIdentityMap: true })
  const published = await readRows(
    em,
    db
      .selectFrom('deleted_packages as d')
      .innerJoin('deleted_package_versions as w', 'w.deleted_id', 'd.id')
      .innerJoin('package_versions as v', (join) => join.onRef('v.package_id', '=', 'd.package_id').onRef('v.version', '=', 'w.version'))
      .select('d.id')
      .where('d.is_whole', '=', false)
      .where('d.id', 'in', ids),
  )
  const current = new Map(packages.map(({ id, name }) => [name, id]))
  const taken = new Set(published.map(({ id }) => id))
  return new Map(rows.flatMap((row) => obstacleOf(row, current.get(row.name), taken.has(row.id))))
})

/** Returns the entry of `loadObstacle` for a deletion. `currentId` identifies the package that has the name now. */
function obstacleOf({ id, name, packageId, isWhole }: DeletedPackage, currentId: string | undefined, isTaken: boolean): [string, string][] {
  const because = (text: string): [string, string][] => [[id, text]]
  if (isWhole) return currentId === undefined ? [] : because(nameTaken(name))
  if (currentId === undefined) return because(packageGone(name))
  if (currentId !== packageId)
    return because(`Another package has the name ${name} now, so a version of the earlier one cannot be restored.`)
  return isTaken ? because(`${name} already has this version.`) : []
}

/** Texts of the obstacles that a restoration can also meet later, when it writes the rows. */
export const nameTaken = (name: string): string =>
  `A package with the name ${name} was published in the meantime. Delete it first to restore the earlier one.`
export const packageGone = (name: string): string => `The package ${name} was deleted, too. Restore the package first.`
