/** Thrown when this machine cannot run untrusted programs. The message contains the reason and the remedy. */
export class SandboxUnusable extends Error {
  override readonly name = 'SandboxUnusable'
}
