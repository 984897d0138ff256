import { once } from 'node:events'
import { Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Returns the request line and headers of a request, up to the empty line. */
export const head = (line: string, headers: Record<string, string | number> = {}): string =>
  `${line} HTTP/1.1\r\nHost: x\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

/** Received text, status of the response, and how the connection ended: in order, or with an error code. */
export type Received = { text: string; status: number; end: string }

/** TCP connection that is closed when the test ends. */
export class RawClient {
  readonly socket = new Socket({ allowHalfOpen: true })
  /** Text received so far. */
  text = ''
  /** Resolves when the server has closed its side. */
  readonly received: Promise<Received>

  private constructor() {
    let failure: string | undefined
    const { socket } = this
    socket.on('data', (chunk: Buffer) => void (this.text += chunk.toString('latin1')))
    socket.on('error', (error: NodeJS.ErrnoException) => void (failure ??= error.code ?? error.message))
    this.received = new Promise((resolve) => {
      const settle = () => resolve({ text: this.text, status: statusOf(this.text), end: failure ?? 'in order' })
      socket.once('end', settle).once('close', settle)
    })
    onTestFinished(() => void socket.destroy())
  }

  static async open(url: string): Promise<RawClient> {
    const client = new RawClient()
    const { hostname, port } = new URL(url)
    client.socket.connect(Number(port), hostname)
    await once(client.socket, 'connect')
    return client
  }

  /** Writes all chunks before reading, as `dart pub` does. */
  async writeFirst(...chunks: (string | Buffer)[]): Promise<Received> {
    const { socket } = this
    socket.pause()
    for (const chunk of chunks) await new Promise<void>((resolve) => socket.write(chunk, () => resolve()))
    socket.resume()
    return this.received
  }

  /** Writes a chunked body until the server closes the connection. Returns the number of accepted bytes. */
  async writeForever(): Promise<number> {
    const { socket } = this
    const chunk = Buffer.from(`10000\r\n${'a'.repeat(0x10000)}\r\n`)
    const write = () => new Promise<boolean>((resolve) => socket.write(chunk, (error) => resolve(!error)))
    let taken = 0
    while (!socket.readableEnded && !socket.destroyed && (await write())) taken += chunk.length
    return taken
  }
}

const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1])
