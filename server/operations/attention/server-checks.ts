import { lowSpace } from '../../errors.ts'
import { weakSettings } from '../../platform/config/warnings.ts'
import { heldBackCollection } from '../../platform/store/collect.ts'
import { knownFaults } from '../../registry/packages/listing/faults.ts'
import { readSchedule } from '../backup/schedule/state.ts'
import { checkHealth, clocksOf } from '../checks/service.ts'
import { lowSpaceAt } from '../stats/forecast.ts'
import { freeBytesOf } from '../stats/samples.ts'
import { certificateProblem } from './certificate.ts'
import { type AttentionCheck, itemsIfAny, item, plural } from './items.ts'

const dayMs = 86_400_000
/** Tolerated difference of the clocks. */
const toleratedMs = 60_000
const soonDays = 30

const componentNames = { metadata_store: 'The database', blob_store: 'The archive store', search_index: 'The search index' }

/** Reports components that do not work. A full disk, which makes several of them fail, is reported by `checkDisk`. */
export const checkComponents: AttentionCheck = async (watched) => {
  const { checks } = await checkHealth(watched)
  const failing = Object.entries(checks).flatMap(([name, { status, message = '' }]) =>
    status === 'error' && message !== lowSpace('').message ? [{ name: componentNames[name as keyof typeof checks], message }] : [],
  )
  return failing.map(({ name, message }) =>
    item({ kind: 'component_failing', severity: 'error', text: `${name} does not work. ${message}` }),
  )
}

export const checkDisk: AttentionCheck = async ({ config, database, now }) => {
  const free = await freeBytesOf(config)
  if (free !== null && free < config.MIN_FREE_BYTES)
    return [item({ kind: 'disk_low', severity: 'error', text: 'The disk is full: packages cannot be published. Free some space.' })]
  const at = await lowSpaceAt({ config, database, now })
  const days = at && Math.ceil((at.getTime() - now().getTime()) / dayMs)
  if (!at || days === null || days > soonDays) return []
  const text = `The disk will be full in about ${plural(Math.max(days, 1), 'day')} if it keeps filling up as in the last month.`
  return [item({ kind: 'disk_low', severity: 'warning', at, text })]
}

export const findArchiveItems: AttentionCheck = async ({ database }) => {
  const [faults, held] = await Promise.all([knownFaults(database.reads), heldBackCollection(database.reads)])
  const onHold = held && {
    kind: 'collection_on_hold' as const,
    severity: 'warning' as const,
    at: new Date(held.at),
    text: `Removing ${plural(held.archives, 'unused archive')} waits for a confirmation on the command line.`,
  }
  return [
    ...itemsIfAny(faults.length, {
      kind: 'archives_unreadable',
      severity: 'error',
      at: faults[0]?.foundAt ?? null,
      text: `${plural(faults.length, 'archive')} cannot be downloaded, because ${faults.length === 1 ? 'it is' : 'they are'} missing or damaged.`,
    }),
    ...(held && onHold ? itemsIfAny(held.archives, onHold) : []),
  ]
}

export const checkBackups: AttentionCheck = async ({ config, database, now }) => {
  const schedule = await readSchedule(config, database.reads, now())
  if (!schedule) return [item({ kind: 'backups_off', severity: 'warning', text: 'Automatic backups are off.' })]
  const { lastFailure, lastSuccess } = schedule
  if (lastFailure && !(lastSuccess && lastSuccess.at > lastFailure.at))
    return [
      item({
        kind: 'backup_failed',
        severity: 'error',
        at: new Date(lastFailure.at),
        text: `The last backup failed. ${lastFailure.reason}`,
      }),
    ]
  const lacking = lastSuccess?.lacking ?? 0
  const text = `The last backup is missing ${plural(lacking, 'file')} that ${lacking === 1 ? 'was' : 'were'} missing or damaged on the server.`
  return itemsIfAny(lacking, { kind: 'backup_incomplete', severity: 'warning', at: lastSuccess && new Date(lastSuccess.at), text })
}

export const checkSettings: AttentionCheck = async ({ config, database, now }) => {
  const weak = weakSettings(config)
  const clocks = await clocksOf({ database, now })
  const differ = Math.abs(clocks.server.getTime() - clocks.database.getTime()) > toleratedMs
  const names = weak.map(({ name }) => name).join(', ')
  const text = `${plural(weak.length, 'setting')} ${weak.length === 1 ? 'weakens' : 'weaken'} the security of this server: ${names}.`
  const clocksText = 'The clocks of the server and the database differ by more than a minute.'
  return [
    ...itemsIfAny(weak.length, { kind: 'settings_weak', severity: 'warning', text }),
    ...(differ ? [item({ kind: 'clocks_differ', severity: 'warning', text: clocksText })] : []),
  ]
}

const isLoopback = (host: string) => host === 'localhost' || host.endsWith('.localhost') || /^127\.|^\[::1\]$/.test(host)

export const findAddressItems: AttentionCheck = async (watched) => {
  const { protocol, hostname, host } = new URL(watched.config.SERVER_URL)
  if (protocol === 'http:' && !isLoopback(hostname)) {
    const text = `Clients use http://${host} without encryption, so passwords and tokens can be read in transit.`
    return [item({ kind: 'address_unencrypted', severity: 'warning', text })]
  }
  const problem = await certificateProblem(watched)
  if (!problem) return []
  const { kind, until: at } = problem
  if (kind === 'expiring')
    return [item({ kind: 'certificate_expiring', severity: 'warning', at, text: `The certificate of ${host} expires soon.` })]
  const what = kind === 'expired' ? 'has expired' : 'is self-signed'
  const text = `The certificate of ${host} ${what}. Package clients reject it unless each machine trusts it.`
  return [item({ kind: 'certificate_untrusted', severity: kind === 'expired' ? 'error' : 'warning', at, text })]
}
