import type { Context } from '../../../platform/access/context.ts'
import { db } from '../../../platform/db/query.ts'
import type { Direction } from '../../../platform/graphql/connections.ts'
import { type Exported, pagesOf } from '../../../platform/rest/export.ts'
import type { Data } from '../../../platform/rest/route.ts'
import { loadUploaders } from '../service.ts'
import { managedSort } from './schema.ts'
import { listManaged, type ManagedFilter, type ManagedOrder, type ManagedPackage } from './service.ts'

type ExportedPackage = ManagedPackage & Partial<Awaited<ReturnType<typeof loadDetails>>[number]> & { uploaders: string }

/** The filtered packages as a file. */
export const packageList: Exported<ExportedPackage> = {
  name: 'packages',
  columns: {
    name: ({ name }) => name,
    latestVersion: ({ latestVersion }) => latestVersion,
    visibility: ({ visibility }) => visibility,
    isUnlisted: ({ isUnlisted }) => isUnlisted,
    isDiscontinued: ({ isDiscontinued }) => isDiscontinued,
    replacedBy: ({ replacedBy }) => replacedBy,
    createdAt: ({ createdAt }) => createdAt,
    updatedAt: ({ updatedAt }) => updatedAt,
    downloads30d: ({ downloads }) => downloads ?? 0,
    versionCount: ({ versionCount }) => versionCount,
    archiveBytes: ({ archiveBytes }) => archiveBytes,
    scorePercent: ({ score }) => (score == null || score < 0 ? null : score),
    publisherId: ({ publisherId }) => publisherId,
    uploaders: ({ uploaders }) => uploaders,
  },
  batches: packages,
}

type Arguments = ManagedFilter & { orderBy?: ManagedOrder | null; direction?: Direction | null }

async function* packages(context: Context, { q, ...given }: Data): AsyncGenerator<ExportedPackage[]> {
  const filter: Arguments = { ...given, query: q as string | null | undefined }
  for await (const batch of pagesOf((page) => listManaged(context, filter, managedSort(filter), page)))
    yield await withDetails(context, batch)
}

async function withDetails({ database }: Context, batch: ManagedPackage[]): Promise<ExportedPackage[]> {
  if (batch.length === 0) return []
  const request = { em: database.fork() }
  const rows = await loadDetails(
    { database },
    batch.map(({ packageId }) => packageId),
  )
  const details = new Map(rows.map((row) => [row.id, row]))
  return Promise.all(
    batch.map(async (row) => {
      const uploaders = (await loadUploaders(request, row.packageId)) ?? []
      return { ...row, ...details.get(row.packageId), uploaders: uploaders.map(({ user }) => user.email).join(' ') }
    }),
  )
}

/** Loads what the file shows of packages in addition to their totals. */
const loadDetails = ({ database }: Pick<Context, 'database'>, ids: string[]) =>
  database.reads.all(
    db
      .selectFrom('packages as p')
      .leftJoin('package_versions as v', (join) =>
        join.onRef('v.package_id', '=', 'p.id').onRef('v.version', '=', 'p.latest_version').on('v.retracted_at', 'is', null),
      )
      .leftJoin('package_search_documents as d', 'd.package_id', 'p.id')
      .select(['p.id', 'p.visibility', 'p.is_unlisted as isUnlisted', 'p.is_discontinued as isDiscontinued'])
      .select(['p.replaced_by as replacedBy', 'p.created_at as createdAt', 'p.updated_at as updatedAt'])
      .select(['v.version as latestVersion', 'd.downloads', 'd.score'])
      .where('p.id', 'in', ids),
  )
