import { DeletedPackagesDocument, type DeletedPackageRowFragment, RestoreDeletedPackageDocument } from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'
import { useConfirmation } from '../shared/confirmation.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { bytes, counted } from '../shared/format.ts'

/** Returns the packages and versions that were deleted in the last seven days. */
export const useDeletedPackages = () =>
  useCursorList({ document: DeletedPackagesDocument, variables: (after) => ({ after }), connection: (data) => data.deletedPackages })

/** Restores a package or version after a confirmation. `afterwards` reloads what showed it as deleted. */
export function useRestoration(afterwards: () => unknown) {
  const change = useMutation(RestoreDeletedPackageDocument)
  return useConfirmation<DeletedPackageRowFragment>({
    change,
    question: (row) => ({
      title: `Restore ${deletedTitle(row)}?`,
      description: row.isWholePackage
        ? `${contentsOf(row)} come back. The owners are: ${ownersOf(row)}. The package is private${row.visibility === 'PUBLIC' ? ', although it was public before' : ''}. Scores and documentation are made again.`
        : 'The version can be downloaded again, and it may become the latest version. Its score and documentation are made again.',
      action: 'Restore',
      tone: 'primary',
    }),
    carryOut: async (row) => (await change.run({ id: row.id })) && `Restored ${deletedTitle(row)}.`,
    afterwards,
    removesRow: true,
  })
}

/** "acme" or "acme 1.0.0". */
export const deletedTitle = ({ name, isWholePackage, versions }: DeletedPackageRowFragment) =>
  isWholePackage ? name : `${name} ${versions[0]?.version ?? ''}`

/** "3 versions (12 kB), 1 like and 20 downloads". */
export function contentsOf({ isWholePackage, versionCount, archiveBytes, likeCount, downloads }: DeletedPackageRowFragment): string {
  const size = bytes(archiveBytes)
  if (!isWholePackage) return `Its archive (${size}) and its downloads`
  return `${counted(versionCount, 'version')} (${size}), ${counted(likeCount ?? 0, 'like')} and ${counted(downloads ?? 0, 'download')}`
}

/** "Acme, Alice and Bob", the owners after the restoration. */
export function ownersOf({ publisher, uploaders }: DeletedPackageRowFragment): string {
  const names = [...(publisher ? [publisher.displayName] : []), ...uploaders.map(({ displayName }) => displayName)]
  return names.length > 0 ? new Intl.ListFormat('en').format(names) : 'You, because its former owners no longer exist'
}
