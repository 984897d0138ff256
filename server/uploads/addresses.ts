/**
 * Where the archive of an upload is sent, with the key that authorizes it. `serverUrl` is `publicUrl`'s, never the Host that a request names.
 * The id comes first: scripts that append `?upload_id=` and send a token keep working.
 */
export const uploadUrl = (serverUrl: string, uploadId: string, key: string): string =>
  `${serverUrl}/api/packages/versions/upload?upload_id=${encodeURIComponent(uploadId)}&upload_key=${key}`

/** Where an upload is finished. */
export const finishUrl = (serverUrl: string, uploadId: string, key: string | null): string =>
  `${serverUrl}/api/packages/versions/newUploadFinish?upload_id=${encodeURIComponent(uploadId)}${key === null ? '' : `&upload_key=${key}`}`
