import type { S3Client } from '@aws-sdk/client-s3'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { openAgent, type ProxySettings } from '../../outbound/proxy.ts'

/** Milliseconds without a response after which the service is probed, and timeout of the probe for a request that is already waiting. */
const [waitMs, probeMs] = [800, 900]

/** Size in bytes of a request body up to which a write must be answered as fast as a read. On a slow line, a larger one delays the probe. */
const quickBytes = 1024 ** 2

/** Milliseconds for which a service that responded is considered alive, and timeout of a probe, which includes connecting. */
const [recentMs, connectMs] = [2000, 1800]

/**
 * Detects a service that accepts connections but never responds, so that callers do not wait for the full timeout and its retries. The probe is a
 * HEAD request for the root; any response, also a rejection, shows that the service is alive. Probes run while a call waits, before every call after
 * a timeout, and before a write unless the service responded recently. A call to a silent service is abandoned. A write may still be executed later,
 * as after a timeout: that is harmless for all writes of `client`. Those of `once` must not run late, and wait for their own timeout.
 * Returns a function that reports whether the service is silent, as far as known.
 */
export function detectUnresponsiveService({ client, once }: Record<'client' | 'once', S3Client>, proxies: ProxySettings): () => boolean {
  let isSilent = false
  let answeredAt = Number.NEGATIVE_INFINITY
  let asked: Promise<boolean> | undefined
  /** Probes the service once for all concurrent callers. A caller that has already waited passes a shorter timeout. @throws ServiceSilent */
  const askAfter = async (request: Address, patienceMs = connectMs): Promise<void> => {
    // No longer than its first caller waits, so that it does not delay the discovery that the service responds again.
    asked ??= isAnswered(request, proxies, patienceMs).finally(() => (asked = undefined))
    const late = Promise.withResolvers<false>()
    const cancel = afterSteps(patienceMs, () => late.resolve(false))
    isSilent = !(await Promise.race([asked, late.promise]))
    cancel()
    if (isSilent) throw new ServiceSilent()
    answeredAt = performance.now()
  }
  const attempt = async <Result extends { response: unknown }>(
    request: Address,
    send: () => Promise<Result>,
    canAbandonWrites: boolean,
  ): Promise<Result> => {
    const isQuestion = ['GET', 'HEAD'].includes(request.method)
    const patienceMs = Number(request.headers['content-length'] ?? 0) > quickBytes ? undefined : probeMs
    if (isSilent || (!isQuestion && performance.now() - answeredAt > recentMs)) await askAfter(request)
    try {
      const sent = send()
      const answer = await (isQuestion || canAbandonWrites ? waitWhileAlive(sent, () => askAfter(request, patienceMs)) : sent)
      answeredAt = performance.now()
      return answer
    } catch (error) {
      if (isTimeout(error)) isSilent = true
      throw error
    }
  }
  for (const one of [client, once])
    one.middlewareStack.add((next) => (args) => attempt(args.request as Address, () => next(args), one === client), {
      step: 'deserialize',
      name: 'detectUnresponsiveService',
      priority: 'low', // innermost, so it sees every attempt
      override: true,
    })
  return () => isSilent
}

/** Thrown when the service does not respond in time. The call is not retried. */
class ServiceSilent extends Error {
  override name = 'ServiceSilent'
  constructor() {
    super('The storage service takes connections, but does not answer')
  }
}

type Address = { method: string; protocol: string; hostname: string; port?: number; headers: Record<string, string> }

/** Waits for a response. If it takes long, waits only as long as the service is alive, which `ask` checks. @throws the error of `ask`. */
async function waitWhileAlive<Result extends { response: unknown }>(answer: Promise<Result>, ask: () => Promise<void>): Promise<Result> {
  let cancel: (() => void) | undefined
  let isOver = false
  const silence = new Promise<never>((_resolve, reject) => {
    const askLater = () => void (isOver || (cancel = afterSteps(waitMs, () => void ask().then(askLater, reject))))
    askLater()
  })
  try {
    return await Promise.race([answer, silence])
  } catch (error) {
    if (error instanceof ServiceSilent) void answer.then(discard, () => undefined)
    throw error
  } finally {
    isOver = true
    cancel?.()
  }
}

/** Discards the response of an abandoned call, which would otherwise occupy its connection. */
function discard({ response }: { response: unknown }): void {
  const { body } = response as { body?: { destroy?: () => void } }
  body?.destroy?.()
}

/** Returns whether the service sends any response. Rejections and connection failures also return true; the call itself reports them. */
async function isAnswered({ protocol, hostname, port }: Address, proxies: ProxySettings, timeoutMs: number): Promise<boolean> {
  // Start the timer before the first `await`, so that the probe times out before its callers do.
  const controller = new AbortController()
  const { signal } = controller
  const cancel = afterSteps(timeoutMs, () => controller.abort())
  const url = new URL(`${protocol}//${hostname}${port ? `:${port}` : ''}/`)
  const agent = await openAgent(proxies, url)
  const { request } = protocol === 'https:' ? await import('node:https') : await import('node:http')
  const probe = request(url, { method: 'HEAD', agent: agent ?? false, signal })
  // Ignores errors after the response has started.
  probe.on('error', () => {}).end()
  try {
    const [answer] = (await once(probe, 'response', { signal })) as [IncomingMessage]
    answer.destroy()
    return true
  } catch {
    return !signal.aborted
  } finally {
    cancel()
  }
}

const stepMs = 50

/**
 * Calls `done` after a time that is counted in steps, and returns a function that cancels it. A process that is too busy to read a response counts
 * one step for all of its delay, so that it does not take its own delay for that of the service.
 */
function afterSteps(ms: number, done: () => void): () => void {
  let left = Math.ceil(ms / stepMs)
  const timer = setInterval(() => {
    if (--left > 0) return
    clearInterval(timer)
    done()
  }, stepMs).unref()
  return () => clearInterval(timer)
}

/** Returns whether an error is a response timeout. A connection reset has the same name but a different code. */
const isTimeout = (error: unknown) =>
  error instanceof Error && error.name === 'TimeoutError' && (!('code' in error) || error.code === 'ETIMEDOUT')
