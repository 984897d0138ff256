import { RemoveRegistryLogoDocument, UpdateRegistryDocument } from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'
import type { PictureTarget } from '../shared/picture-upload.ts'
import { loadSession } from '../sign-in/session.ts'

export const useUpdateRegistry = () => useMutation(UpdateRegistryDocument)

/** Uploads and removes the logo. The header shows it when the session is loaded again. */
export function useLogo(): PictureTarget {
  const { run, failure } = useMutation(RemoveRegistryLogoDocument)
  return {
    upload: 'api/admin/logo',
    remove: async () => ((await run({})) ? undefined : failure.value),
    refresh: () => loadSession({ again: true }),
  }
}
