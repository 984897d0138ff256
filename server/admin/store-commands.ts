import { audit } from '../audit/service.ts'
import { storedAt } from '../blobs/names.ts'
import { invalidInput, notFound } from '../errors.ts'
import { DeletedVersion } from '../packages/dependency-entity.ts'
import { collectArchives, type Collection, describeHeldBack, graceDays, planCollection } from '../store/collect.ts'
import { adoptStore, restoringMark } from '../store/identity.ts'
import { nameOfStore, openBlobs, type StoreConfig } from '../store/open.ts'
import { refusal } from '../store/problems.ts'
import type { Operation, Outcome } from './command.ts'
import { byOperator } from './commands.ts'
import { counted } from './counted.ts'

/**
 * Ties the archive store to the database, whatever it belonged to.
 * @returns what to tell the operator.
 * @throws ConfigError when only a part of a backup was restored into the store.
 */
export async function adopt({ em, config }: Operation): Promise<string> {
  const blobs = await openBlobs(config)
  if ((await blobs.identity())?.startsWith(restoringMark)) throw refusal('unfinished', config)
  await adoptStore(em, blobs, (inner) => record(inner, `tied the archive store ${nameOfStore(config)} to this database`))
  return `The archive store ${nameOfStore(config)} belongs to this database now. Any other database that used it is refused from now on. Start the server.`
}

/**
 * Takes archives out of the store that no version names, as the server does now and then; `dryRun` only says which, `confirmed` does it
 * however many there are.
 * @returns what to tell the operator.
 * @throws Error before the setup is done, or when the store is not the database's own.
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
    const counts = `${counted(removed.length, 'archives')} removed, ${counted(purged.length, 'archives')} deleted for good`
    await em.transactional(async (inner) => record(inner, `collected what no version names: ${counts}`))
  }
  const summary = `Removed ${removed.length}, which are kept aside for ${graceDays} days; deleted ${purged.length} for good.`
  return { text: [...lines, summary].join('\n'), data }
}

/**
 * Puts a removed archive back into the store: by its SHA-256, or by package and version.
 * @returns what to tell the operator.
 * @throws ApiError NotFound when nothing is known of it, or its bytes are gone.
 */
export async function restoreArchive({ em, config }: Operation, name = '', version?: string): Promise<string> {
  const sha256 = version === undefined ? name : await hashOf(em, name, version)
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw invalidInput('Name the archive by its SHA-256 in lower-case hex, or by package and version.')
  const blobs = await openBlobs(config)
  if (!(await blobs.restore(sha256))) {
    if (await blobs.has(sha256)) return `The archive ${sha256} is in the store already.`
    throw notFound(`The archive ${sha256} is not among the removed ones: those are deleted for good after ${graceDays} days.`)
  }
  const what = version === undefined ? sha256 : `of ${name} ${version} (${sha256})`
  await em.transactional(async (inner) => record(inner, `put the removed archive ${what} back into the store`))
  const [named] = await em.execute<unknown[]>('select 1 from package_versions where archive_sha256 = ?', [sha256])
  const rest = named
    ? ''
    : `\nNo version names it, so it is removed again after a day. Copy it from ${pathOf(config, sha256)} if you need it.`
  return `The archive ${sha256} is back in the store.${rest}`
}

/** What changes the store is not undone when this fails, so that comes first. */
const record = (em: Operation['em'], done: string): void =>
  audit(em, { kind: 'server.settings_updated', actor: null, summary: byOperator(done) })

async function hashOf(em: Operation['em'], name: string, version: string): Promise<string> {
  const [published]: { sha256: string }[] = await em.execute(
    'select v.archive_sha256 as sha256 from package_versions v join packages p on p.id = v.package_id where p.name = ? and v.version = ?',
    [name, version],
  )
  const sha256 = published?.sha256 ?? (await em.findOne(DeletedVersion, { packageName: name, version }))?.archiveSha256
  if (!sha256) throw notFound(`Nothing is known of an archive of ${name} ${version}. Name it by its SHA-256: the server's log says it.`)
  return sha256
}

const pathOf = (config: StoreConfig, sha256: string) => `${nameOfStore(config).replace(/\/$/, '')}/sha256/${storedAt(sha256)}`

function describePlan({ removed, purged, heldBack }: Collection): string {
  return [
    ...removed.map(({ sha256, bytes }) => `would remove ${sha256} (${bytes} bytes)`),
    ...purged.map(({ sha256, bytes }) => `would delete ${sha256} (${bytes} bytes) for good`),
    `Would remove ${removed.length} and delete ${purged.length} for good. Nothing was changed.`,
    ...(heldBack ? ['That many are removed only with --confirm.'] : []),
  ].join('\n')
}
