/** An install that cannot succeed, however often it is tried. The message is for administrators. */
export class InstallRefused extends Error {
  override readonly name = 'InstallRefused'
}
