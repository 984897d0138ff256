import { setTimeout as sleep } from 'node:timers/promises'
import { packageArchive } from './archive.ts'
import { PubClient } from './pub-client.ts'
import { json, ownersAccount } from './server-process.ts'

/** Clients that continuously publish, read, delete and sign in. They retry once when a connection is reset. */
export class Load {
  readonly failures: string[] = []
  readonly counts = { published: 0, read: 0, deleted: 0, signedIn: 0, resets: 0 }
  readonly published: string[] = []
  private readonly address: string
  private readonly token: string
  private readonly pub: PubClient
  private readonly running: Promise<void>
  private isOver = false
  private serial = 0

  constructor(address: string, token: string) {
    this.address = address
    this.token = token
    this.pub = new PubClient({ hostedUrl: address, address, token })
    const publishing = [1, 2].map(() => this.again('published', 100, () => this.publish()))
    const reading = [1, 2, 3].map(() => this.again('read', 30, () => this.read()))
    const others = [this.again('deleted', 150, () => this.delete()), this.again('signedIn', 300, () => this.signIn())]
    this.running = Promise.all([...publishing, ...reading, ...others]).then(() => {})
  }

  /** Waits until `count` more packages are published. Rejects if any request failed. */
  async more(count: number): Promise<void> {
    for (const until = this.counts.published + count; this.counts.published < until; await sleep(20))
      if (this.failures.length > 0) throw new Error(this.failures.join('\n'))
  }

  async end(): Promise<void> {
    this.isOver = true
    await this.running
    for (const name of this.published) await this.pub.download(name, '1.0.0')
  }

  private async again(what: 'published' | 'read' | 'deleted' | 'signedIn', pauseMs: number, work: () => Promise<void>): Promise<void> {
    while (!this.isOver) {
      try {
        await work().catch((error: unknown) => {
          if (!isReset(error)) throw error
          this.counts.resets++
          return work()
        })
        this.counts[what]++
      } catch (error) {
        this.failures.push(`${what}: ${String(error)}`)
      }
      await sleep(pauseMs)
    }
  }

  private async publish(): Promise<void> {
    const name = `package_${this.serial++}`
    await this.pub.publish(await packageArchive({ name, version: '1.0.0', files: { 'README.md': `# ${name}` } }))
    this.published.push(name)
  }

  private async read(): Promise<void> {
    const name = this.published[Math.floor(Math.random() * this.published.length)]
    if (name !== undefined) await this.pub.download(name, '1.0.0')
  }

  /** Deletes a package that only this client knows, so that reads of other clients do not fail. */
  private async delete(): Promise<void> {
    const name = `gone_${this.serial++}`
    await this.pub.publish(await packageArchive({ name, version: '1.0.0' }))
    const headers = { authorization: `Bearer ${this.token}` }
    const answer = await fetch(`${this.address}/api/admin/packages/${name}`, { method: 'DELETE', headers })
    if (!answer.ok) throw new Error(`deleting is answered with ${answer.status}: ${await answer.text()}`)
  }

  private async signIn(): Promise<void> {
    // Each sign-in uses a new client address, because sign-ins are rate limited per address.
    const from = { 'x-forwarded-for': `10.${this.counts.signedIn >> 8}.${this.counts.signedIn & 255}.7` }
    const { status, cookies } = await json(`${this.address}/api/auth/login`, ownersAccount, from)
    if (status !== 200) throw new Error(`signing in is answered with ${status}`)
    const cookie = cookies.map((one) => one.split(';', 1)[0]).join('; ')
    const me = await json(`${this.address}/api/auth/me`, undefined, { cookie })
    if (me.status !== 200) throw new Error(`a session is answered with ${me.status}`)
  }
}

const isReset = (error: unknown): boolean => /ECONNRESET|EPIPE|socket hang up|other side closed/.test(`${String(error)} ${causeOf(error)}`)

const causeOf = (error: unknown): string => (error instanceof Error && error.cause instanceof Error ? `${error.cause}` : '')
