/**
 * Runs `work` and waits for its result or for `signal` to be aborted. Takes a function instead of a promise, because a promise that exists before
 * `throwIfAborted` throws would have no handler, and its rejection would crash the process.
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
