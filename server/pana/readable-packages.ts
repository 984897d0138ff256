import { hostedHere, isHostedHere } from '../packages/hosting/hosted-here.ts'
import { normalHostedUrl } from '../pub/hosted-url.ts'
import type { Services } from '../services.ts'

/**
 * The packages of this server that resolving a version can lead to, by name: what it depends on, for development too, and what these depend on
 * in any version. One statement, however deep; circles end.
 */
export async function readablePackages({ config, database }: Services, versionId: string): Promise<string[]> {
  const here = hostedHere(config)
  // What names no registry comes from here, too, where this server is the one that SDKs get packages from.
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
