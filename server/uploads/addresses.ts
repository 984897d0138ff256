/** Where the archive of an upload is sent. `serverUrl` is `publicUrl`'s, never the Host that a request names. */
export const uploadUrl = (serverUrl: string): string => `${serverUrl}/api/packages/versions/upload`

/** Where an upload is finished. */
export const finishUrl = (serverUrl: string, uploadId: string): string =>
  `${serverUrl}/api/packages/versions/newUploadFinish?upload_id=${encodeURIComponent(uploadId)}`
