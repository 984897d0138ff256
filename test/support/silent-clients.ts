import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished } from 'vitest'

/** A connection on which a client sent this and then nothing more, until the test ends. */
export async function openSocket(url: string, text = ''): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

/** Begins a request without its body. When this resolves, the server is at work on it: it has answered one that came later. */
export async function beginRequest(url: string, line: string, headers: Record<string, string>): Promise<void> {
  const lines = Object.entries({ host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  await openSocket(url, `${line} HTTP/1.1\r\n${lines.join('')}\r\n`)
  expect((await fetch(`${url}/livez`)).status).toBe(200)
}

/** What a client may have sent before it falls silent: nothing, half a line, half of the headers. */
export const fragments = ['', 'GET /api/v1/health HT', 'GET /api/v1/health HTTP/1.1\r\nHost: x\r\n']
