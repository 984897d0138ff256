import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished } from 'vitest'

/** Opens a connection, sends `text` and then nothing more until the test ends. */
export async function openSocket(url: string, text = ''): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

/** Sends the headers of a request without its body. Waits for the response to a later request, so the server is processing this one. */
export async function beginRequest(url: string, line: string, headers: Record<string, string>): Promise<void> {
  const lines = Object.entries({ host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  await openSocket(url, `${line} HTTP/1.1\r\n${lines.join('')}\r\n`)
  expect((await fetch(`${url}/livez`)).status).toBe(200)
}

/** Incomplete requests: nothing, half of the request line, half of the headers. */
export const fragments = ['', 'GET /api/v1/health HT', 'GET /api/v1/health HTTP/1.1\r\nHost: x\r\n']
