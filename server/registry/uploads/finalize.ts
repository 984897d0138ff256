import type { EntityManager } from '@mikro-orm/sql'
import type { Readable } from 'node:stream'
import { formerAddresses } from '../packages/hosting.ts'
import type { SignedInContext } from '../../platform/access/context.ts'
import { requirePackage } from '../../platform/access/narrowed.ts'
import type { StoredBytes } from '../../platform/blobs/store.ts'
import { db, prepared } from '../../platform/db/query.ts'
import { changeRows } from '../../platform/db/statements.ts'
import { ApiError, conflict, invalidInput, storageAway } from '../../errors.ts'
import { publicUrl } from '../../platform/http/public-url.ts'
import { confusionWarning } from '../names/service.ts'
import { PackageVersion } from '../packages/entity.ts'
import { admit, publish } from './publish.ts'
import { Upload } from './entity.ts'
import { ownUpload, unknownUpload } from './service.ts'

/** The result of a finished upload. The hash identifies the published version. */
export type FinishedUpload = { message: string; sha256: string }

/**
 * Validates the uploaded archive and publishes it. Idempotent after success. A rejected upload is deleted.
 * @throws ApiError NotFound, PackageRejected, InsufficientPermissions, Conflict.
 */
export async function finalizeUpload(context: SignedInContext, uploadId: string): Promise<FinishedUpload> {
  const { metrics } = context
  const { id, message, stagedAs, sha256, bytes, crc32c } = await ownUpload(context, uploadId)
  if (sha256 == null || stagedAs == null || bytes == null || crc32c == null)
    throw invalidInput('The archive has not been uploaded. Send it to the URL of the upload, then finish.', 'upload_id')
  if (message != null) {
    await requireCoveredResult(context, sha256)
    return { message, sha256 }
  }
  try {
    const published = await publishUpload(context, { id, stagedAs, sha256, bytes, crc32c })
    metrics?.countUpload('published')
    return { message: published, sha256 }
  } catch (error) {
    const isRejection = error instanceof ApiError && error.status < 500
    metrics?.countUpload(isRejection ? 'refused' : 'failed')
    // Delete a rejected upload. After a server error the upload is kept, so that the client can retry.
    if (isRejection) await discardUpload(context, { id, stagedAs })
    else if (await isGone(context, id)) throw unknownUpload()
    throw error
  }
}

/** Rejects the result of an upload that another credential of the same user finished, if this one does not cover the package. */
async function requireCoveredResult(context: SignedInContext, sha256: string): Promise<void> {
  if (!context.credential.narrowing?.covers) return
  const version = await context.em.findOne(PackageVersion, { archiveSha256: sha256 }, { populate: ['package'] })
  if (version) requirePackage(context, 'publish', version.package.name)
}

/** The hosted URL of the mirror, if there is one. */
const mirrorUrl = ({ SERVER_URL, UPSTREAM_URL }: SignedInContext['config']) => (UPSTREAM_URL === undefined ? [] : [`${SERVER_URL}/mirror`])

type ReceivedUpload = StoredBytes & { id: string; stagedAs: string }

async function publishUpload(context: SignedInContext, { id, stagedAs, ...archive }: ReceivedUpload): Promise<string> {
  const { blobs, caches, config, database } = context
  const formerUrls = await formerAddresses(database.reads, config)
  const rules = { serverUrl: config.SERVER_URL, formerUrls, allowedHostedUrls: [...config.ALLOWED_HOSTED_URLS, ...mirrorUrl(config)] }
  // Import lazily: the archive and manifest parsers take memory that idle servers do not need.
  const { inspectPackage } = await import('../archive/inspect.ts')
  const cached = caches.uploads.get(stagedAs)
  caches.uploads.delete(stagedAs)
  const inspected = await inspectPackage(cached ?? (await openBytes(context, { id, stagedAs, sha256: archive.sha256 })), rules)
  requirePackage(context, 'publish', inspected.pubspec.name)
  const submission = { ...inspected, archive }
  const newName = await admit(context, submission)
  await blobs.promote(stagedAs, archive.sha256)
  const { name, version } = inspected.pubspec
  const own = publicUrl(context.request, config.SERVER_URL)
  const success = `Successfully uploaded ${name} ${version}: ${own}/packages/${name}`
  let message = success
  const saveMessage = (em: EntityManager, confusable: readonly string[]) => {
    message = (success + confusionWarning(name, confusable, { upstream: config.UPSTREAM_URL, own })).slice(0, 500)
    return changeRows(em, finish, message, id)
  }
  await publish(context, submission, { newName, inSameTransaction: saveMessage })
  return message
}

const finish = prepared((message: string, id: string) => db.updateTable('uploads').set({ message }).where('id', '=', id))

/**
 * Opens the staged bytes, or the stored bytes if a concurrent request is publishing them. Throws NotFound if a concurrent request has rejected them.
 */
async function openBytes(context: SignedInContext, { id, stagedAs, sha256 }: Omit<ReceivedUpload, 'bytes' | 'crc32c'>): Promise<Readable> {
  const { blobs } = context
  for (const open of [() => blobs.openStaged(stagedAs), () => blobs.open(sha256)]) {
    const source = await open().catch(nullWhenMissing)
    if (source) return source
  }
  if ((await blobs.identity().catch(() => null)) === null) throw storageAway()
  if (await isGone(context, id)) throw unknownUpload()
  throw conflict('The uploaded archive was lost on the server. Publish again.')
}

function nullWhenMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

/** Returns whether the upload was deleted in the meantime, by replacement or rejection, so that retrying is pointless. */
const isGone = async ({ em }: SignedInContext, id: string): Promise<boolean> =>
  (await em
    .fork()
    .count(Upload, { id })
    .catch(() => null)) === 0

async function discardUpload({ em, blobs }: SignedInContext, { id, stagedAs }: { id: string; stagedAs: string }): Promise<void> {
  // The condition keeps bytes that a later attempt has staged. Delete the row first, so that a request that misses the bytes also finds the upload
  // gone.
  await em.nativeDelete(Upload, { id, message: null, stagedAs })
  await blobs.discard(stagedAs)
}
