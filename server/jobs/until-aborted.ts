/**
 * Starts `work` and waits for it until `signal` is aborted. Takes a function: a promise that exists before the check would have no handler when
 * the check throws, and its rejection would end the process.
 * @throws the reason of `signal`.
 */
export async function untilAborted<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work(), promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
