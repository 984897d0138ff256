/** An archive that is not to be unpacked, or not to be had room for: trying again does not help. The message is for administrators. */
export class UnpackRefused extends Error {
  override readonly name = 'UnpackRefused'
}

/** What reading an archive failed with: what the system says stays as it is, everything else is the archive's fault. */
export const refusalOf = (error: unknown): unknown =>
  error instanceof UnpackRefused || !(error instanceof Error) || 'syscall' in error
    ? error
    : new UnpackRefused(`The archive cannot be read: ${error.message}`)
