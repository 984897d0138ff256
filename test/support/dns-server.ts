import { createServer, type DnsHandler, Packet } from 'dns2'
import { once } from 'node:events'
import { freePort } from './free-port.ts'

/** Response for each name: TXT records, each of one or more strings, an error code, or no response. */
type Zone = Record<string, string[][] | 'servfail' | 'refused' | 'silent'>

/** Starts a DNS server on a free loopback port over UDP and TCP. Names that are not in `zone` do not exist. */
export async function startDns() {
  const zone: Zone = {}
  /** Returns the IPv4 addresses of a name, for each question again. */
  const addresses: Record<string, () => string[]> = {}
  /** Every received question, such as `TXT _svc-verify.acme.dev`. */
  const questions: string[] = []
  const { server, port } = await listen((request, send) => {
    const [question] = request.questions
    const name = question?.name ?? ''
    questions.push(`${Packet.TYPE_NAME[Number(question?.type)]} ${name}`)
    const response = Packet.createResponseFromRequest(request)
    const hosts = addresses[name.toLowerCase()]
    if (hosts) {
      if (question?.type === Packet.TYPE.A) for (const address of hosts()) response.answers.push(addressRecord(name, address))
      return void send(response)
    }
    const known = zone[name.toLowerCase()]
    if (known === 'silent') return
    if (known === undefined) response.header.rcode = Packet.RCODE.NXDOMAIN
    else if (known === 'servfail') response.header.rcode = Packet.RCODE.SERVFAIL
    else if (known === 'refused') response.header.rcode = Packet.RCODE.REFUSED
    else for (const data of known) response.answers.push(textRecord(name, data))
    void send(response)
  })
  return { zone, addresses, questions, address: `127.0.0.1:${port}`, [Symbol.asyncDispose]: () => server.close() }
}

const textRecord = (name: string, data: string[]) => Object.assign(new Packet.Resource(name, Packet.TYPE.TXT, Packet.CLASS.IN, 1), { data })

const addressRecord = (name: string, address: string) =>
  Object.assign(new Packet.Resource(name, Packet.TYPE.A, Packet.CLASS.IN, 0), { address })

/** Listens on the same port for UDP and TCP, as resolvers expect. Tries another port if it is in use. */
async function listen(handle: DnsHandler) {
  for (;;) {
    const port = await freePort()
    const server = createServer({ udp: true, tcp: true, handle })
    const failed = once(server, 'error').then(() => false)
    const at = { port, address: '127.0.0.1' }
    if (await Promise.race([server.listen({ udp: at, tcp: at }).then(() => true), failed])) return { server, port }
  }
}
