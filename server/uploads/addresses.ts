/** Where the archive of an upload is sent. Addresses are built from SERVER_URL, never from what the request says. */
export const uploadUrl = (serverUrl: string): string => `${serverUrl}/api/packages/versions/upload`

/** Where an upload is finished. */
export const finishUrl = (serverUrl: string, uploadId: string): string =>
  `${serverUrl}/api/packages/versions/newUploadFinish?upload_id=${encodeURIComponent(uploadId)}`
