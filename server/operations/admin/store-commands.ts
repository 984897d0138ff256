import { audit } from '../../accounts/audit/service.ts'
import { storedAt } from '../../platform/blobs/names.ts'
import { invalidInput, notFound } from '../../errors.ts'
import { DeletedVersion } from '../../registry/packages/entity.ts'
import { collectArchives, type Collection, describeHeldBack, graceDays, planCollection } from '../../platform/store/collect.ts'
import { adoptStore, refusal, restoringPrefix } from '../../platform/store/identity.ts'
import { nameOfStore, openBlobs, type StoreConfig } from '../../platform/store/open.ts'
import type { Operation, Outcome } from './command.ts'
import { byOperator } from './commands.ts'
import { counted } from './counted.ts'

/**
 * Links the archive store to the database, whatever database it was linked to before.
 * @returns the message for the operator.
 * @throws ConfigError when the store contains an unfinished restore.
 */
export async function adopt({ em, config }: Operation): Promise<string> {
  const blobs = await openBlobs(config)
  if ((await blobs.identity())?.startsWith(restoringPrefix)) throw refusal('unfinished', config)
  await adoptStore(em, blobs, (inner) => record(inner, `tied the archive store ${nameOfStore(config)} to this database`))
  return `The archive store ${nameOfStore(config)} now belongs to this database. Servers on other databases can no longer use it. Start the server.`
}

/**
 * Removes orphaned archives from the store, as the server does at intervals. `dryRun` only lists them; `confirmed` allows removing any number.
 * @returns the message for the operator.
 * @throws Error before the setup is complete, or when the store belongs to another database.
 */
export async function collect({ em, config }: Operation, { dryRun = false, confirmed = false } = {}): Promise<Outcome> {
  const lines: string[] = []
  const blobs = await openBlobs(config)
  const circumstances = { em, blobs, now: () => new Date(), say: (line: string) => void lines.push(line) }
  const done = dryRun ? await planCollection(circumstances) : await collectArchives(circumstances, { confirmed })
  const data = { dryRun, ...done }
  if (dryRun) return { text: describePlan(done), data }
  if (done.heldBack) return { text: describeHeldBack(done.heldBack), data }
  const { removed, purged } = done
  if (removed.length + purged.length > 0) {
    const counts = `${counted(removed.length, 'archives')} removed, ${counted(purged.length, 'archives')} permanently deleted`
    await em.transactional(async (inner) => record(inner, `collected orphaned archives: ${counts}`))
  }
  const summary = `Removed ${removed.length} (can be restored for ${graceDays} days), permanently deleted ${purged.length}.`
  return { text: [...lines, summary].join('\n'), data }
}

/**
 * Restores a removed archive, given by its SHA-256 or by package and version.
 * @returns the message for the operator.
 * @throws ApiError NotFound when the archive is unknown or already deleted.
 */
export async function restoreArchive({ em, config }: Operation, name = '', version?: string): Promise<string> {
  const sha256 = version === undefined ? name : await hashOf(em, name, version)
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw invalidInput('Give the SHA-256 of the archive in lower-case hex, or package and version.')
  const blobs = await openBlobs(config)
  if (!(await blobs.restore(sha256))) {
    if (await blobs.has(sha256)) return `The archive ${sha256} is already in the store.`
    throw notFound(`No removed archive ${sha256} found. Removed archives are permanently deleted after ${graceDays} days.`)
  }
  const what = version === undefined ? sha256 : `of ${name} ${version} (${sha256})`
  await em.transactional(async (inner) => record(inner, `put the removed archive ${what} back into the store`))
  const [named] = await em.execute<unknown[]>('select 1 from package_versions where archive_sha256 = ?', [sha256])
  const rest = named
    ? ''
    : `\nNo version refers to it, so it will be removed again after a day. Copy it from ${pathOf(config, sha256)} if you need it.`
  return `The archive ${sha256} is back in the store.${rest}`
}

/** Writes an audit entry. Called before the store is changed, because that change cannot be rolled back. */
const record = (em: Operation['em'], done: string): void =>
  audit(em, { kind: 'server.settings_updated', actor: null, summary: byOperator(done) })

async function hashOf(em: Operation['em'], name: string, version: string): Promise<string> {
  const [published]: { sha256: string }[] = await em.execute(
    'select v.archive_sha256 as sha256 from package_versions v join packages p on p.id = v.package_id where p.name = ? and v.version = ?',
    [name, version],
  )
  const sha256 = published?.sha256 ?? (await em.findOne(DeletedVersion, { packageName: name, version }))?.archiveSha256
  if (!sha256) throw notFound(`No archive of ${name} ${version} is known. Give its SHA-256, which the server log contains.`)
  return sha256
}

const pathOf = (config: StoreConfig, sha256: string) => `${nameOfStore(config).replace(/\/$/, '')}/sha256/${storedAt(sha256)}`

function describePlan({ removed, purged, heldBack }: Collection): string {
  return [
    ...removed.map(({ sha256, bytes }) => `would remove ${sha256} (${bytes} bytes)`),
    ...purged.map(({ sha256, bytes }) => `would permanently delete ${sha256} (${bytes} bytes)`),
    `Would remove ${removed.length} and permanently delete ${purged.length}. Nothing was changed.`,
    ...(heldBack ? ['Removing this many requires --confirm.'] : []),
  ].join('\n')
}
