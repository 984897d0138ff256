import type { S3Client } from '@aws-sdk/client-s3'
import { setTimeout as wait } from 'node:timers/promises'

/** How long a question may be without an answer before the service is asked whether it is there, and how long that answer may take. */
const [waitMs, probeMs] = [1000, 900]

/** A service that answered something so lately is taken to be there. After that, connecting anew may take as long as clients may wait. */
const [recentMs, connectMs] = [2000, 1800]

/**
 * Tells a slow service from one that takes connections and never answers, so that nobody waits for the whole time limit of a call, nor for the
 * tries after it: it is asked for its root, and any answer at all, a refusal too, shows that it is there. So it is while a question (GET, HEAD)
 * waits, and before every call after one that got no answer in time. What was given up may still be done late, so calls that change something
 * are not given up; instead, the service is asked before them, too, unless it answered something just now.
 */
export function noticeSilence(clients: S3Client[]): void {
  let isSilent = false
  let answeredAt = Number.NEGATIVE_INFINITY
  let asked: Promise<boolean> | undefined
  /** Asks once for all who want to know; who has waited before waits for less. @throws ServiceSilent */
  const askAfter = async (request: Address, patienceMs?: number): Promise<void> => {
    asked ??= isAnswered(request).finally(() => (asked = undefined))
    isSilent = !(await (patienceMs === undefined ? asked : Promise.race([asked, wait(patienceMs, false, { ref: false })])))
    if (isSilent) throw new ServiceSilent()
    answeredAt = performance.now()
  }
  const attempt = async <Result extends { response: unknown }>(request: Address, send: () => Promise<Result>): Promise<Result> => {
    const isQuestion = ['GET', 'HEAD'].includes(request.method)
    if (isSilent || (!isQuestion && performance.now() - answeredAt > recentMs)) await askAfter(request)
    try {
      const sent = send()
      const answer = await (isQuestion ? unlessSilent(sent, () => askAfter(request, probeMs)) : sent)
      answeredAt = performance.now()
      return answer
    } catch (error) {
      if (isTimeout(error)) isSilent = true
      throw error
    }
  }
  for (const client of clients)
    client.middlewareStack.add((next) => (args) => attempt(args.request as Address, () => next(args)), {
      step: 'deserialize',
      name: 'noticeSilence',
      priority: 'low', // next to the connection: it sees each attempt
      override: true,
    })
}

/** The service got no answer out in time, and is not worth another try now. */
class ServiceSilent extends Error {
  override name = 'ServiceSilent'
  constructor() {
    super('The storage service takes connections, but does not answer')
  }
}

type Address = { method: string; protocol: string; hostname: string; port?: number }

/** Waits for an answer. One that takes long is waited for only as long as the service is there. @throws what `ask` throws. */
async function unlessSilent<Result extends { response: unknown }>(answer: Promise<Result>, ask: () => Promise<void>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_resolve, reject) => (timer = setTimeout(() => void ask().catch(reject), waitMs)))
  try {
    return await Promise.race([answer, silence])
  } catch (error) {
    if (error instanceof ServiceSilent) void answer.then(discard, () => undefined)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** An answer for which nobody waits any more would keep its connection. */
function discard({ response }: { response: unknown }): void {
  const { body } = response as { body?: { destroy?: () => void } }
  body?.destroy?.()
}

/** Whether the service answers anything. What is refused or broken off is for the call itself to tell. */
async function isAnswered({ protocol, hostname, port }: Address): Promise<boolean> {
  try {
    const { body } = await fetch(`${protocol}//${hostname}${port ? `:${port}` : ''}/`, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(connectMs),
    })
    await body?.cancel()
    return true
  } catch (error) {
    return !(error instanceof Error && error.name === 'TimeoutError')
  }
}

/** No answer in time; a connection that was reset has the same name with a code of its own. */
const isTimeout = (error: unknown) =>
  error instanceof Error && error.name === 'TimeoutError' && (!('code' in error) || error.code === 'ETIMEDOUT')
