/** Nothing foreign can be run on this machine as it is. The message says why and what to do. */
export class SandboxUnusable extends Error {
  override readonly name = 'SandboxUnusable'
}
