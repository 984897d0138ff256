import { type Parameter, toDate } from '../../platform/db/reads.ts'
import type { Services } from '../../services.ts'
import type { Audience } from '../../platform/access/audience.ts'
import { hostedHere } from '../packages/hosting.ts'
import { isListed, hasPublicVersion, isPublicVersion } from '../packages/policy.ts'
import type { Entry } from './atom.ts'

type Reader = Pick<Services, 'database' | 'config'>
type Row = { name: string; version: string; created_at: number | string | Date; pubspec: string }

/** Maximum number of entries in a feed. */
export const maxEntries = 50

/** Returns the newest versions of all listed packages, newest first, without retracted ones. */
export const newestVersions = (reader: Reader, audience: Audience): Promise<Entry[]> => read(reader, audience, isListed('p'))

/** Returns the newest versions of a publisher's listed packages, newest first, without retracted ones. */
export const newestOfPublisher = (reader: Reader, id: string): Promise<Entry[]> =>
  read(reader, 'members', `p.publisher_id = ? and ${isListed('p')}`, id)

/**
 * Returns the newest versions of one package, listed or not; null if the package does not exist for this audience. For the public audience, private
 * and nonexistent packages run the same statements, so that timing does not reveal private ones.
 */
export async function newestOfPackage(reader: Reader, audience: Audience, name: string): Promise<Entry[] | null> {
  const entries = await read(reader, audience, 'p.name = ?', name)
  if (entries.length > 0) return entries
  const isThere =
    audience === 'members'
      ? reader.database.reads.recall('select id from packages where name = ?', name)
      : reader.database.reads.recall(
          `select p.id from packages p where p.name = ? and ${hasPublicVersion('p')}`,
          name,
          hostedHere(reader.config),
        )
  return (await isThere) ? entries : null
}

/** Reads the newest matching versions. Ids increase over time and are indexed, so ordering by id is ordering by age. */
async function read({ database, config }: Reader, audience: Audience, condition: string, ...parameters: Parameter[]): Promise<Entry[]> {
  const [readable, hosted] = audience === 'members' ? ['', []] : [` and ${isPublicVersion}`, [hostedHere(config)]]
  const rows = await database.reads.all<Row>(
    `select p.name, v.version, v.created_at, v.pubspec from package_versions v join packages p on p.id = v.package_id
      where v.retracted_at is null and ${condition}${readable} order by v.id desc limit ${maxEntries}`,
    ...parameters,
    ...hosted,
  )
  return rows.map((row) => ({
    page: `${config.SERVER_URL}/packages/${row.name}/versions/${row.version}`,
    title: `${row.name} ${row.version}`,
    at: toDate(row.created_at),
    summary: descriptionOf(row.pubspec),
  }))
}

function descriptionOf(pubspec: string): string {
  const { description } = JSON.parse(pubspec) as { description?: unknown }
  return typeof description === 'string' ? description.trim().slice(0, 1000) : ''
}
