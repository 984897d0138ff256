import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../../server/platform/db/open/orm.ts'
import { testApp, type TestApp } from '../../app.ts'

/**
 * Starts a relay to PostgreSQL that accepts every connection, and never responds if `isSilent` returns true for the connection's number, from 1.
 * Returns the config of a server behind it, with a short timeout.
 */
async function behindRelay({ config }: TestApp, isSilent: (connection: number) => boolean) {
  const { hostname, port } = new URL(config.POSTGRES_URL ?? '')
  const sockets: Socket[] = []
  const relay = createServer((client) => {
    sockets.push(client.on('error', () => {}))
    if (isSilent(sockets.length)) return
    const server = connect(Number(port), hostname).on('error', () => client.destroy())
    client
      .on('close', () => server.destroy())
      .pipe(server)
      .pipe(client)
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  onTestFinished(() => {
    relay.close()
    for (const socket of sockets) socket.destroy()
  })
  const url = new URL(config.POSTGRES_URL ?? '')
  url.port = String((relay.address() as AddressInfo).port)
  return { ...config, POSTGRES_URL: url.href, DB_CONNECT_TIMEOUT_MS: 2000 }
}

it('starts although PostgreSQL does not respond to the first connections in time', async () => {
  await using app = await testApp({ alone: true })
  // The server reserves three connections: each succeeds at the second attempt.
  const silent = new Set([1, 3, 5])
  const config = await behindRelay(app, (connection) => silent.delete(connection))
  const database = await openDatabase(config)
  onTestFinished(() => database.close())
  expect(silent.size).toBe(0)
  await database.probeWrite()
})

it('does not start if PostgreSQL never responds', async () => {
  await using app = await testApp({ alone: true })
  const config = await behindRelay(app, () => true)
  await expect(openDatabase(config)).rejects.toThrow(
    /^Cannot connect to PostgreSQL at 127\.0\.0\.1:\d+: timeout expired\. Check that it runs/,
  )
})
