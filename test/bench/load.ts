import { connect } from 'node:net'

/** A burst of equal requests over a few kept-alive connections, each of which sends its next request when the answer is there. */
export type Burst = { url: string; headers: Record<string, string>; status: number; seconds: number; connections: number; ownCore: boolean }
export type BurstResult = { requests: number; seconds: number; problem?: string }

// A process of its own that sends the bursts it is told to send, one after the other. Written by hand, because the usual load generators for
// Node take longer to read an answer of 5 MB than any server to send it, and so would measure themselves.
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
 * Keeps this process from falling asleep while it waits. A sleeper is woken by the server's write, which takes a virtual machine as long as
 * the rest of the answer, and only servers that are slow enough for their readers to fall asleep would pay for it.
 */
function stayAwake(deadline: number): void {
  if (performance.now() < deadline) setImmediate(stayAwake, deadline)
}

/** Gives how many answers one connection got. */
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

/** Makes a function that takes what arrives and calls `done` at the end of each answer. An answer tells its length or has no body. */
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
