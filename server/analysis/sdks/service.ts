import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import type { SignedInContext } from '../../platform/access/context.ts'
import { audit } from '../../accounts/audit/service.ts'
import { idOf } from '../../platform/db/base.ts'
import { batched } from '../../platform/db/batched.ts'
import { db } from '../../platform/db/query.ts'
import { changeRows } from '../../platform/db/statements.ts'
import { conflict, notFound } from '../../errors.ts'
import type { Job } from '../../platform/jobs/entity.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import { SdkInstall, type SdkKind } from './entity.ts'
import { thisPlatform } from './platform.ts'
import { findRelease, requireSdkVersion, type Wanted } from './releases.ts'
import { adminCommand } from '../../platform/config/version.ts'

/** Kinds of the jobs that install an SDK and that delete its folders. The job subject is the install's id. */
export const sdkInstallKind = 'sdk.install'
export const sdkRemovalKind = 'sdk.remove'

/** Display name, such as `Dart 3.5.0`. */
export const sdkTitle = ({ kind, version }: Pick<SdkInstall, 'kind' | 'version'>): string =>
  `${kind === 'dart' ? 'Dart' : 'Flutter'} ${version}`

/** Lists all installs: Dart before Flutter, newest first. */
export const listInstalls = (em: EntityManager): Promise<SdkInstall[]> =>
  em.find(SdkInstall, {}, { orderBy: { kind: 'asc', createdAt: 'desc', id: 'desc' } })

/** Loads an install with its log. Returns null for an unknown id. */
export async function loadInstall(em: EntityManager, id: string): Promise<SdkInstall | null> {
  const known = idOf(id)
  return known === null ? null : em.findOne(SdkInstall, { id: known }, { populate: ['log'] })
}

/** Loads an install without its log, by its id. */
export const loadSdk = batched<SdkInstall>(async (em, ids) => {
  const rows = await em.find(SdkInstall, { id: { $in: ids } }, { disableIdentityMap: true })
  return new Map(rows.map((row) => [row.id, row]))
})

/** Loads an install with its log. @throws ApiError NotFound for an unknown id. */
export async function findInstall(em: EntityManager, id: string): Promise<SdkInstall> {
  const install = await loadInstall(em, id)
  if (!install) throw notFound('There is no SDK install with this id.')
  return install
}

/**
 * Starts to install a release, or restarts a failed install. Returns an SDK that is already installed or being installed unchanged. @throws ApiError
 * InvalidInput for an invalid version; NotFound for an unknown release; ServiceUnavailable when the archive cannot be read.
 */
export async function installSdk(context: SignedInContext, wanted: Wanted): Promise<SdkInstall> {
  requireSdkVersion(wanted.version)
  const { em, viewer, now } = context
  const known = await em.findOne(SdkInstall, wanted)
  if (known && known.status !== 'failed') return known
  if (!(await findRelease(context, wanted))) throw notFound(noRelease(wanted))
  if (known) return (await restart(em, known.id, ['failed'], now())) ?? (await em.fork().findOneOrFail(SdkInstall, wanted))
  try {
    return await em.fork().transactional(async (inner) => {
      const { sdkPlatform: platform } = thisPlatform()
      const install = inner.create(SdkInstall, { ...wanted, platform, requestedById: viewer.id })
      await inner.flush()
      await enqueueInstall(inner, install, now())
      return install
    })
  } catch (error) {
    // A concurrent request created the same install.
    if (error instanceof UniqueConstraintViolationException) return em.fork().findOneOrFail(SdkInstall, wanted)
    throw error
  }
}

export const noRelease = ({ channel, ...wanted }: Wanted): string =>
  `There is no ${sdkTitle(wanted)} in the channel ${channel} for ${thisPlatform().sdkPlatform}.`

/** Downloads and installs an SDK again. @throws ApiError NotFound; Conflict while the SDK is being installed, and for an imported SDK. */
export async function rebuildSdk({ em, now }: SignedInContext, id: string): Promise<SdkInstall> {
  const install = await findInstall(em, id)
  if (install.importedSha256)
    throw conflict(`${sdkTitle(install)} was imported from a file. To rebuild it, import the file again: ${adminCommand} import-sdk <file>`)
  const begun = await restart(em, id, ['ready', 'failed'], now())
  if (!begun) throw conflict(`${sdkTitle(install)} is being installed. Wait until it is ready, or remove it to stop the install.`)
  return begun
}

/** Makes an SDK the default for analyzing packages of its kind. @throws ApiError NotFound for an unknown id; Conflict when the SDK is not ready. */
export async function setDefaultSdk({ em, viewer, ip }: SignedInContext, id: string): Promise<SdkInstall> {
  const { kind } = await findInstall(em, id)
  return em.fork().transactional(async (inner) => {
    // Serializes concurrent changes of the default.
    await lockKind(inner, kind)
    const install = await findInstall(inner, id)
    if (install.status !== 'ready') throw conflict(`${sdkTitle(install)} is not ready (${install.status}), so it cannot be the default.`)
    if (install.isDefault) return install
    await inner.nativeUpdate(SdkInstall, { kind, isDefault: true }, { isDefault: false })
    install.isDefault = true
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary: `Made ${sdkTitle(install)} the default SDK`, ip })
    return install
  })
}

/**
 * Removes an SDK, or stops its install. The newest ready install of the same kind replaces a removed default. @throws ApiError NotFound for an
 * unknown id.
 */
export async function removeSdk({ em, viewer, ip, now }: SignedInContext, id: string): Promise<void> {
  const { kind } = await findInstall(em, id)
  return em.fork().transactional(async (inner) => {
    await lockKind(inner, kind) // serializes with changes of the default, so that exactly one default remains
    const install = await findInstall(inner, id)
    inner.remove(install)
    await inner.flush()
    const next =
      install.isDefault && (await inner.findOne(SdkInstall, { kind, status: 'ready' }, { orderBy: { createdAt: 'desc', id: 'desc' } }))
    if (next) next.isDefault = true
    const summary = `Removed ${sdkTitle(install)} (${install.channel})${next ? `. ${sdkTitle(next)} is now the default` : ''}`
    audit(inner, { kind: 'server.sdk_removed', actor: viewer, summary, ip })
    await inner.flush()
    await enqueue(inner, { kind: sdkRemovalKind, subject: id }, now())
  })
}

/**
 * Marks the install of a cancelled job as failed, in the transaction of `em`, which must hold the install's lock (`lockInstall`). A process that
 * works on the install stops, and a job deletes its folder.
 */
export async function cancelInstall(em: EntityManager, { subject, payload }: Pick<Job, 'subject' | 'payload'>, reason: string, now: Date) {
  const { generation } = installPayload.parse(JSON.parse(payload))
  const install = await em.findOne(SdkInstall, { id: subject, generation }, { populate: ['log'] })
  if (!install || isOver(install)) return
  const log = withLines(install.log, [reason])
  em.assign(install, { status: 'failed', errorMessage: reason, log, generation: generation + 1 })
  await em.flush()
  await enqueue(em, { kind: sdkRemovalKind, subject }, now)
}

const restart = (em: EntityManager, id: string, statuses: SdkInstall['status'][], now: Date): Promise<SdkInstall | null> =>
  em.fork().transactional((inner) => restartIn(inner, id, statuses, now))

/** Restarts an install in the transaction of `em` if it has one of the given statuses. Returns null otherwise. */
export async function restartIn(
  em: EntityManager,
  id: string,
  statuses: SdkInstall['status'][],
  now: Date,
  changes: Partial<Pick<SdkInstall, 'importedSha256' | 'status'>> = {},
): Promise<SdkInstall | null> {
  await lockInstall(em, id)
  const install = await findInstall(em, id)
  if (!statuses.includes(install.status)) return null
  em.assign(install, { ...freshStart, ...changes, generation: install.generation + 1 })
  await em.flush()
  await enqueueInstall(em, install, now)
  return install
}

/** Locks all installs of a kind until the transaction of `em` ends, to serialize changes of the default. */
export const lockKind = async (em: EntityManager, kind: SdkKind): Promise<void> =>
  void (await changeRows(em, unchanged.where('kind', '=', kind)))

const unchanged = db.updateTable('sdk_installs').set((eb) => ({ generation: eb.ref('generation') }))

/** Payload of an install job. A job whose generation is no longer current has been cancelled. */
export const installPayload = z.object({ generation: z.int() })

export const enqueueInstall = (em: EntityManager, { id, generation }: SdkInstall, now: Date): Promise<string> =>
  enqueue(em, { kind: sdkInstallKind, subject: id, payload: { generation } }, now)

const freshStart = {
  status: 'downloading',
  bytesDone: 0,
  bytesTotal: null,
  log: '',
  errorMessage: null,
  readyAt: null,
  sizeBytes: null,
  importedSha256: null,
} as const

/** Locks an install until the transaction ends. Writes, because on SQLite a transaction that began with a read may not be able to write. */
export const lockInstall = async (em: EntityManager, id: string): Promise<void> =>
  void (await changeRows(em, unchanged.where('id', '=', id)))

/** Maximum number of log lines kept per install, and their maximum length in characters. */
const maxLines = 200
const maxLength = 400

/** Returns the progress of the current step of an install. The lazy `log` property must be loaded. */
export function progressOf({ id, status, bytesDone, bytesTotal, log, errorMessage }: SdkInstall) {
  const total = bytesTotal ?? null
  const percent = status === 'ready' ? 100 : total ? Math.min(99, Math.floor((100 * bytesDone) / total)) : 0
  return { installId: id, status, bytesDone, bytesTotal: total, percent, log: linesOf(log), errorMessage }
}

export const isOver = ({ status }: Pick<SdkInstall, 'status'>): boolean => status === 'ready' || status === 'failed'

const linesOf = (log: string): string[] => (log === '' ? [] : log.split('\n'))

/** Appends lines to a log and keeps the last 200. */
export const withLines = (log: string, added: readonly string[]): string =>
  [...linesOf(log), ...added.map((line) => line.replace(/[\p{Cc}\s]+/gu, ' ').slice(0, maxLength))].slice(-maxLines).join('\n')
