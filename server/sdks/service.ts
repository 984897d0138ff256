import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/sql'
import { z } from 'zod'
import type { SignedInContext } from '../access/context.ts'
import { audit } from '../audit/service.ts'
import { idOf } from '../db/base.ts'
import { conflict, notFound } from '../errors.ts'
import type { Job } from '../jobs/entity.ts'
import { enqueue } from '../jobs/queue.ts'
import { SdkInstall, type SdkKind } from './entity.ts'
import { thisPlatform } from './platform.ts'
import { isOver, withLines } from './progress.ts'
import { findRelease, requireVersion, type Wanted } from './releases.ts'
import { adminCommand } from '../version.ts'

/** The kinds of the jobs that install an SDK, and that remove what is left of one. Their subject is the install's id. */
export const installKind = 'sdk.install'
export const removalKind = 'sdk.remove'

/** `Dart 3.5.0`, for people. */
export const titleOf = ({ kind, version }: Pick<SdkInstall, 'kind' | 'version'>): string =>
  `${kind === 'dart' ? 'Dart' : 'Flutter'} ${version}`

/** All installs: Dart before Flutter, the latest first. */
export const listInstalls = (em: EntityManager): Promise<SdkInstall[]> =>
  em.find(SdkInstall, {}, { orderBy: { kind: 'asc', createdAt: 'desc', id: 'desc' } })

/** An install with its log, or null. */
export async function loadInstall(em: EntityManager, id: string): Promise<SdkInstall | null> {
  const known = idOf(id)
  return known === null ? null : em.findOne(SdkInstall, { id: known }, { populate: ['log'] })
}

/** @throws ApiError NotFound */
export async function findInstall(em: EntityManager, id: string): Promise<SdkInstall> {
  const install = await loadInstall(em, id)
  if (!install) throw notFound('There is no SDK install with this id.')
  return install
}

/**
 * Begins to install a release; a job goes on with it. One that is installed, or on its way, is given as it is; one that failed begins anew.
 * @throws ApiError InvalidInput for what is no version; NotFound when there is no such release for this platform; ServiceUnavailable when the
 * archive cannot be read.
 */
export async function installSdk(context: SignedInContext, wanted: Wanted): Promise<SdkInstall> {
  requireVersion(wanted.version)
  const { em, viewer, now } = context
  const known = await em.findOne(SdkInstall, wanted)
  if (known && known.status !== 'failed') return known
  if (!(await findRelease(context, wanted))) throw notFound(noRelease(wanted))
  if (known) return (await beginAgain(em, known.id, ['failed'], now())) ?? (await em.fork().findOneOrFail(SdkInstall, wanted))
  try {
    return await em.fork().transactional(async (inner) => {
      const { sdkPlatform: platform } = thisPlatform()
      const install = inner.create(SdkInstall, { ...wanted, platform, requestedById: viewer.id })
      await inner.flush()
      await enqueueInstall(inner, install, now())
      return install
    })
  } catch (error) {
    // Somebody else asked for the same at this moment.
    if (error instanceof UniqueConstraintViolationException) return em.fork().findOneOrFail(SdkInstall, wanted)
    throw error
  }
}

export const noRelease = ({ channel, ...wanted }: Wanted): string =>
  `There is no ${titleOf(wanted)} in the channel ${channel} for ${thisPlatform().sdkPlatform}.`

/**
 * Installs an SDK anew, from the archive; meanwhile it is not ready.
 * @throws ApiError NotFound; Conflict while it is being installed, and for one that was imported.
 */
export async function rebuildSdk({ em, now }: SignedInContext, id: string): Promise<SdkInstall> {
  const install = await findInstall(em, id)
  if (install.importedSha256)
    throw conflict(`${titleOf(install)} was imported from a file. To rebuild it, import that again: ${adminCommand} import-sdk <file>`)
  const begun = await beginAgain(em, id, ['ready', 'failed'], now())
  if (!begun) throw conflict(`${titleOf(install)} is being installed. Remove it to stop that, or wait.`)
  return begun
}

/**
 * Makes an SDK the one that packages of its kind are analyzed with.
 * @throws ApiError NotFound; Conflict when it is not ready.
 */
export async function setDefaultSdk({ em, viewer, ip }: SignedInContext, id: string): Promise<SdkInstall> {
  const { kind } = await findInstall(em, id)
  return em.fork().transactional(async (inner) => {
    // Whichever of them is made the default, they wait for each other.
    await lockKind(inner, kind)
    const install = await findInstall(inner, id)
    if (install.status !== 'ready') throw conflict(`${titleOf(install)} is not ready (${install.status}), so it cannot be the default.`)
    if (install.isDefault) return install
    await inner.nativeUpdate(SdkInstall, { kind, isDefault: true }, { isDefault: false })
    install.isDefault = true
    audit(inner, { kind: 'server.settings_updated', actor: viewer, summary: `Made ${titleOf(install)} the default SDK`, ip })
    return install
  })
}

/**
 * Removes an SDK and stops its installation. When it was the default, the newest ready install of its kind becomes the default; without one,
 * packages are analyzed by the built-in engine.
 * @throws ApiError NotFound
 */
export async function removeSdk({ em, viewer, ip, now }: SignedInContext, id: string): Promise<void> {
  const { kind } = await findInstall(em, id)
  return em.fork().transactional(async (inner) => {
    await lockKind(inner, kind) // as setting a default does, so that exactly one remains
    const install = await findInstall(inner, id)
    inner.remove(install)
    await inner.flush()
    const next =
      install.isDefault && (await inner.findOne(SdkInstall, { kind, status: 'ready' }, { orderBy: { createdAt: 'desc', id: 'desc' } }))
    if (next) next.isDefault = true
    const summary = `Removed ${titleOf(install)} (${install.channel})${next ? `. ${titleOf(next)} is now the default` : ''}`
    audit(inner, { kind: 'server.sdk_removed', actor: viewer, summary, ip })
    await inner.flush()
    await enqueue(inner, { kind: removalKind, subject: id }, now())
  })
}

/**
 * Ends the install that a job was to do, in the transaction of `em`, which has locked it: whoever works on it has to stop, and what there is of
 * it on the disk goes.
 */
export async function cancelInstall(em: EntityManager, { subject, payload }: Pick<Job, 'subject' | 'payload'>, reason: string, now: Date) {
  const { generation } = installPayload.parse(JSON.parse(payload))
  const install = await em.findOne(SdkInstall, { id: subject, generation }, { populate: ['log'] })
  if (!install || isOver(install)) return
  const log = withLines(install.log, [reason])
  em.assign(install, { status: 'failed', errorMessage: reason, log, generation: generation + 1 })
  await em.flush()
  await enqueue(em, { kind: removalKind, subject }, now)
}

/** Begins an install anew, when its status is one of these; null when it is another. */
const beginAgain = (em: EntityManager, id: string, statuses: SdkInstall['status'][], now: Date): Promise<SdkInstall | null> =>
  em.fork().transactional((inner) => beginAgainIn(inner, id, statuses, now))

/** The same in the transaction of `em`. */
export async function beginAgainIn(
  em: EntityManager,
  id: string,
  statuses: SdkInstall['status'][],
  now: Date,
  changes: Partial<Pick<SdkInstall, 'importedSha256' | 'status'>> = {},
): Promise<SdkInstall | null> {
  const install = await lockExisting(em, id)
  if (!statuses.includes(install.status)) return null
  em.assign(install, { ...freshStart, ...changes, generation: install.generation + 1 })
  await em.flush()
  await enqueueInstall(em, install, now)
  return install
}

/** Has whoever else makes an SDK of a kind the default wait for the transaction of `em`. */
export const lockKind = async (em: EntityManager, kind: SdkKind): Promise<void> =>
  void (await em.execute('update sdk_installs set generation = generation where kind = ?', [kind]))

/** What the job of an install is to do: an attempt at it that was not called off meanwhile. */
export const installPayload = z.object({ generation: z.int() })

/** Has a job go on with an install, in the transaction of `em`. */
export const enqueueInstall = (em: EntityManager, { id, generation }: SdkInstall, now: Date): Promise<string> =>
  enqueue(em, { kind: installKind, subject: id, payload: { generation } }, now)

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

async function lockExisting(em: EntityManager, id: string): Promise<SdkInstall> {
  await lockInstall(em, id)
  return findInstall(em, id)
}

/** Has whoever else changes an install wait for the transaction of `em`: SQLite lets one that began with a read write only when nobody else did. */
export const lockInstall = async (em: EntityManager, id: string): Promise<void> =>
  void (await em.execute('update sdk_installs set generation = generation where id = ?', [id]))
