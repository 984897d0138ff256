/** A version in a mirrored listing. */
export type MirroredVersion = {
  version: string
  retracted: boolean
  /** Address of the archive on the upstream server. */
  archiveUrl: string
  /** SHA-256 in hex; null if the upstream server does not state it. */
  sha256: string | null
  /** When the version was published, as an ISO date; null if unknown. */
  published: string | null
  pubspec: Record<string, unknown>
}

/** A package of the upstream server. Versions are in ascending order. */
export type MirroredListing = {
  name: string
  isDiscontinued: boolean
  replacedBy: string | null
  advisoriesUpdated: string | null
  versions: MirroredVersion[]
}
