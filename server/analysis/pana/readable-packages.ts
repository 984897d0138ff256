import { hostedHere, isHostedHere } from '../../registry/packages/hosting/hosted-here.ts'
import { normalHostedUrl } from '../../platform/pub/hosted-url.ts'
import type { Services } from '../../services.ts'

/**
 * Returns the names of the packages on this server that resolving a version can involve: its dependencies and dev dependencies, and their transitive
 * dependencies in any version. Uses a single recursive query, which handles cycles.
 */
export async function readablePackages({ config, database }: Services, versionId: string): Promise<string[]> {
  const here = hostedHere(config)
  // If this server is the SDKs' default registry, dependencies without a registry URL are also on this server.
  const unnamed = normalHostedUrl(config.SDK_PUB_HOSTED_URL) === here ? 'or (d.hosted_url is null and d.sdk is null)' : ''
  const rows = await database.fork().execute<{ name: string }[]>(
    `with recursive needed(name) as (
       select d.name from package_dependencies d where d.version_id = ? and (${isHostedHere('d.hosted_url')} ${unnamed})
       union
       select d.name from needed n
         join packages p on p.name = n.name
         join package_versions v on v.package_id = p.id
         join package_dependencies d on d.version_id = v.id and d.kind = 'direct' and (${isHostedHere('d.hosted_url')} ${unnamed})
     )
     select q.name from needed n join packages q on q.name = n.name order by q.name`,
    [versionId, here, here],
  )
  return rows.map(({ name }) => name)
}
