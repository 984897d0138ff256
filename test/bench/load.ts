import { connect } from 'node:net'

/** Burst of identical requests over several keep-alive connections. Each connection sends its next request after the response to the previous one. */
export type Burst = { url: string; headers: Record<string, string>; status: number; seconds: number; connections: number; ownCore: boolean }
export type BurstResult = { requests: number; seconds: number; problem?: string }

// Load generator process. Sends the bursts it receives as messages one after the other. A custom implementation, because common load generators for
// Node need longer to read a response of 5 MB than servers need to send it, and would measure themselves.
process.on('message', (burst: Burst) => {
  void send(burst)
    .catch((error: unknown) => ({ requests: 0, seconds: 0, problem: `${burst.url}: ${String(error)}` }))
    .then((result) => process.send?.(result))
})

async function send(burst: Burst): Promise<BurstResult> {
  const started = performance.now()
  const deadline = started + burst.seconds * 1000
  if (burst.ownCore) stayAwake(deadline)
  const counts = await Promise.all(Array.from({ length: burst.connections }, () => sendInSeries(burst, deadline)))
  return { requests: counts.reduce((sum, count) => sum + count, 0), seconds: (performance.now() - started) / 1000 }
}

/**
 * Keeps this process running while it waits. On virtual machines, waking a sleeping process takes the server's write call as long as the rest of the
 * response, and only servers slow enough for their clients to sleep would pay this cost.
 */
function stayAwake(deadline: number): void {
  if (performance.now() < deadline) setImmediate(stayAwake, deadline)
}

/** Sends requests on one connection until the deadline and returns the number of responses. */
function sendInSeries({ url, headers, status }: Burst, deadline: number): Promise<number> {
  const { hostname, port, pathname, search } = new URL(url)
  const lines = Object.entries({ host: `${hostname}:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = `GET ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n`
  return new Promise((resolve, reject) => {
    let answers = 0
    const read = answerReader(status, () => {
      answers++
      if (performance.now() < deadline) return void socket.write(request)
      socket.destroy()
      resolve(answers)
    })
    const callback = (length: number, buffer: Uint8Array): boolean => {
      try {
        read(buffer as Buffer, length)
      } catch (error) {
        socket.destroy(error as Error)
      }
      return true
    }
    const socket = connect({ host: hostname, port: Number(port), noDelay: true, onread: { buffer: Buffer.alloc(256 * 1024), callback } })
    socket.on('connect', () => socket.write(request))
    socket.on('error', reject)
    socket.on('end', () => reject(new Error('the server ended a connection')))
  })
}

/** Returns a function that reads chunks of data and calls `done` at the end of each response. Responses have a Content-Length or no body. */
function answerReader(status: number, done: () => void): (buffer: Buffer, length: number) => void {
  let head = ''
  let missing = 0
  return (buffer, length) => {
    let position = 0
    if (missing === 0) {
      const before = head.length
      head += buffer.toString('latin1', 0, Math.min(length, 4096))
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) return
      if (!head.startsWith(`HTTP/1.1 ${status} `)) throw new Error(`expected ${status}, got ${head.slice(9, end)}`)
      const size = /\r\ncontent-length: (\d+)/i.exec(head.slice(0, end))?.[1]
      if (size === undefined && status !== 304) throw new Error('an answer without a content-length')
      missing = Number(size ?? 0)
      position = end + 4 - before
      head = ''
    }
    missing -= length - position
    if (missing < 0) throw new Error('more came than was announced')
    if (missing === 0) done()
  }
}
