import { type Parameter, toDate } from '../db/reads/reads.ts'
import type { Services } from '../services.ts'
import type { Audience } from '../access/audience.ts'
import { hostedHere } from '../packages/hosting/hosted-here.ts'
import { isListed, hasPublicVersion, isPublicVersion } from '../packages/policy.ts'
import type { Entry } from './atom.ts'

type Reader = Pick<Services, 'database' | 'config'>
type Row = { name: string; version: string; created_at: number | string | Date; pubspec: string }

/** As many as a feed has entries at most. */
export const maxEntries = 50

/** The versions published last, newest first, of all packages that are in lists; without what was retracted. */
export const newestVersions = (reader: Reader, audience: Audience): Promise<Entry[]> => read(reader, audience, isListed('p'))

/** The same of the packages of a publisher. */
export const newestOfPublisher = (reader: Reader, id: string): Promise<Entry[]> =>
  read(reader, 'members', `p.publisher_id = ? and ${isListed('p')}`, id)

/**
 * The same of one package, unlisted or not; null when there is none, or none for this audience. For anybody the statements are the same,
 * whether the package is private or not there: nobody tells them apart by the time it takes.
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

/** Ids grow with time, so the newest are the last by id, which is indexed. */
async function read({ database, config }: Reader, audience: Audience, condition: string, ...parameters: Parameter[]): Promise<Entry[]> {
  const [readable, hosted] = audience === 'members' ? ['', []] : [` and ${isPublicVersion}`, [hostedHere(config)]]
  const rows = await database.heavyReads.all<Row>(
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
