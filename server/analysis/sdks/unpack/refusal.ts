/**
 * An archive that cannot be unpacked because it is invalid or does not fit on the disk. Retrying does not help. The message is shown to
 * administrators.
 */
export class UnpackRefused extends Error {
  override readonly name = 'UnpackRefused'
}

/** Converts an error of reading an archive. Returns system errors unchanged and reports any other error as an invalid archive. */
export const refusalOf = (error: unknown): unknown =>
  error instanceof UnpackRefused || !(error instanceof Error) || 'syscall' in error
    ? error
    : new UnpackRefused(`The archive cannot be read: ${error.message}`)
