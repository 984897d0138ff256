import type { FastifyInstance } from 'fastify'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Whether test servers consist of two instances that share a PostgreSQL database and an S3 bucket (project "several" in vitest.config.ts). */
export const runsTwoInstances = process.env.TEST_INSTANCES === '2'

/** Distributes requests that are injected into the first instance over both instances in turn. */
export function alternateRequests(first: FastifyInstance, second: FastifyInstance): void {
  const ways = [first.inject.bind(first), second.inject.bind(second)]
  let turn = 0
  const next = (...given: unknown[]) => Reflect.apply(ways[turn++ % ways.length] as () => unknown, undefined, given)
  Object.defineProperty(first, 'inject', { value: next, writable: true, configurable: true })
}

/** Load balancer for TCP connections. */
export type Balancer = { address: string; close: () => Promise<void> }

/** Starts listening on all instances, and on a balancer that connects clients to them in turn. */
export async function listenBehindBalancer(instances: FastifyInstance[]): Promise<Balancer> {
  const ports: number[] = []
  for (const http of instances) ports.push(Number(new URL(await http.listen({ host: '127.0.0.1', port: 0 })).port))
  let turn = 0
  return openBalancer(() => ports[turn++ % ports.length] ?? 0)
}

/** Listens on a free port and forwards each connection to the port that `choose` returns. */
export async function openBalancer(choose: () => number | Promise<number>): Promise<Balancer> {
  const open = new Set<Socket>()
  const lead = async (client: Socket) => {
    open.add(client.on('error', () => {}))
    const upstream = connect({ port: await choose(), host: '127.0.0.1', allowHalfOpen: true })
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from)
      from.on('error', () => to.destroy()).on('close', () => (open.delete(from), to.destroy()))
      from.pipe(to)
    }
  }
  const server = createServer({ allowHalfOpen: true }, (client) => void lead(client))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
}
