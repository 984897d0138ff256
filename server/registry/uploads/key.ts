import type { FastifyRequest } from 'fastify'
import { type Identity, identityById } from '../../platform/access/authenticate.ts'
import { unauthenticated } from '../../platform/access/guards.ts'
import { idOf } from '../../platform/db/base.ts'
import { equalSecrets, hmac, type Keys, validKeys } from '../../platform/http/keys.ts'
import type { Credential } from '../../platform/access/roles.ts'
import type { Services } from '../../services.ts'
import { findCiJob } from '../trusted-publishing/identify.ts'
import { unknownUpload } from './service.ts'

/**
 * Returns the key of an upload, which authorizes sending and finishing this upload on behalf of the credential that started it. The key is needed
 * because the pub client sends its token only to URLs that start with the exact URL it was configured with, which need not be SERVER_URL. The key is
 * not stored: it names the credential and is an HMAC over upload and credential.
 */
export function uploadKey({ upload }: Pick<Keys, 'upload'>, uploadId: string, { kind, id }: Pick<Credential, 'kind' | 'id'>): string {
  return `svc_upload_${kind}_${id.replaceAll('-', '')}_${hmac(upload, `${uploadId} ${kind} ${id}`)}`
}

const keyForm = /^svc_upload_(token|session)_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})_[0-9a-f]{64}$/

/**
 * Identifies the caller by the `upload_key` query parameter, valid only for the upload in `upload_id`. Returns null without a key.
 * @throws ApiError NotFound when the key does not match, as for an upload that does not exist; MissingAuthentication when the credential that started
 * the upload is no longer valid.
 */
export async function identifyByUploadKey(services: Services, request: FastifyRequest): Promise<Identity | null> {
  const { upload_id: givenId, upload_key: key } = request.query as Record<string, unknown>
  if (key === undefined) return null
  if (typeof givenId !== 'string' || typeof key !== 'string') throw unknownUpload()
  const [uploadId, signer] = [idOf(givenId), signerOf(key)]
  if (!uploadId || !signer || !validKeys(services.keys).some((valid) => equalSecrets(key, uploadKey(valid, uploadId, signer))))
    throw unknownUpload()
  const identity =
    (await identityById(services.database.reads, signer, services.config, services.now())) ??
    (signer.kind === 'token' ? await findCiJob(services, signer.id) : null)
  if (!identity) throw unauthenticated({ request, config: services.config }, false)
  return { ...identity, credential: { ...identity.credential, uploadId } }
}

function signerOf(key: string): Pick<Credential, 'kind' | 'id'> | null {
  const [, kind, ...id] = keyForm.exec(key) ?? []
  return kind === 'token' || kind === 'session' ? { kind, id: id.join('-') } : null
}

/**
 * Returns the URL for sending an upload's archive, including the key that authorizes it. `serverUrl` comes from `publicUrl`, never from the request's
 * Host header. The id is the first parameter so that scripts that append `?upload_id=` and send a token keep working.
 */
export const uploadUrl = (serverUrl: string, uploadId: string, key: string): string =>
  `${serverUrl}/api/packages/versions/upload?upload_id=${encodeURIComponent(uploadId)}&upload_key=${key}`

export const finishUrl = (serverUrl: string, uploadId: string, key: string | null): string =>
  `${serverUrl}/api/packages/versions/newUploadFinish?upload_id=${encodeURIComponent(uploadId)}${key === null ? '' : `&upload_key=${key}`}`
