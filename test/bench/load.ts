import autocannon from 'autocannon'

/** A burst of requests, all for one address. */
export type Burst = { url: string; headers: Record<string, string>; status: number; seconds: number; connections: number }
export type BurstResult = { requests: number; seconds: number; problem?: string }

// A process of its own: sends the bursts that it is told to send, one after the other, and says what came of each.
process.on('message', (burst: Burst) => void send(burst).then((result) => process.send?.(result)))

async function send({ url, headers, status, seconds, connections }: Burst): Promise<BurstResult> {
  const result = await autocannon({ url, headers, duration: seconds, connections, sampleInt: 100 })
  const requests = result.statusCodeStats?.[`${status}`]?.count ?? 0
  const others = result.requests.total - requests
  const problem = others || result.errors ? `${others} answers other than ${status}, ${result.errors} errors from ${url}` : undefined
  return { requests, seconds: result.duration, ...(problem !== undefined && { problem }) }
}
