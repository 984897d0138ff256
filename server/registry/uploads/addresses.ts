/**
 * Returns the URL for sending an upload's archive, including the key that authorizes it. `serverUrl` comes from `publicUrl`, never from the request's
 * Host header. The id is the first parameter so that scripts that append `?upload_id=` and send a token keep working.
 */
export const uploadUrl = (serverUrl: string, uploadId: string, key: string): string =>
  `${serverUrl}/api/packages/versions/upload?upload_id=${encodeURIComponent(uploadId)}&upload_key=${key}`

/** Returns the URL for finishing an upload. */
export const finishUrl = (serverUrl: string, uploadId: string, key: string | null): string =>
  `${serverUrl}/api/packages/versions/newUploadFinish?upload_id=${encodeURIComponent(uploadId)}${key === null ? '' : `&upload_key=${key}`}`
