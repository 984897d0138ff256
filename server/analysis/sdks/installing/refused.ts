/** An install that fails permanently: retrying does not help. The message is shown to administrators. */
export class InstallRefused extends Error {
  override readonly name = 'InstallRefused'
}
