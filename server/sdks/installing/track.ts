import type { Work } from '../../jobs/handler.ts'
import type { Services } from '../../services.ts'
import { type InstallStatus, SdkInstall } from '../entity.ts'
import { withLines } from '../progress.ts'

/** How often is written down how far an install is, and looked whether it is still wanted. */
const writeMs = 1000

/** An install that a job works on, and what the job tells of it. */
export class Track {
  readonly install: SdkInstall
  /** Aborted when the server stops, when another process took over, and when the install was removed or begun anew. */
  readonly signal: AbortSignal
  readonly #services: Pick<Services, 'database' | 'log'>
  readonly #work: Work
  readonly #obsolete = new AbortController()
  readonly #state: { status: InstallStatus; bytesDone: number; bytesTotal: number | null }
  readonly #timer: NodeJS.Timeout
  #log: string
  readonly #lines: string[] = []
  #written = Promise.resolve()
  #isClosed = false

  /** The log of the install has to be loaded. */
  constructor(services: Pick<Services, 'database' | 'log'>, install: SdkInstall, work: Work) {
    this.install = install
    this.signal = AbortSignal.any([work.signal, this.#obsolete.signal])
    this.#services = services
    this.#work = work
    this.#state = { status: install.status, bytesDone: install.bytesDone, bytesTotal: install.bytesTotal ?? null }
    this.#log = install.log
    const warn = (error: unknown) => services.log.warning(`SDK install ${install.id}: cannot write down its progress: ${String(error)}`)
    this.#timer = setInterval(() => void this.#write().catch(warn), writeMs).unref()
  }

  /** Whether the install was removed or begun anew: nobody waits for this one any more. */
  get isObsolete(): boolean {
    return this.#obsolete.signal.aborted
  }

  /** Begins a step. */
  async begin(status: InstallStatus, line: string): Promise<void> {
    Object.assign(this.#state, { status, bytesDone: 0, bytesTotal: null })
    this.say(line)
    await this.#write()
    this.signal.throwIfAborted()
    this.#work.progress({ phase: status, done: 0, total: null })
  }

  /** How far the step is, in bytes. */
  report(bytesDone: number, bytesTotal: number | null): void {
    Object.assign(this.#state, { bytesDone, bytesTotal })
    this.#work.progress({ phase: this.#state.status, done: bytesDone, total: bytesTotal })
  }

  /** Adds a line to the log. */
  say(line: string): void {
    this.#lines.push(line)
  }

  /** Writes down the rest, and nothing more after it. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    if (!this.#isClosed && !this.isObsolete) await this.#write()
    this.#isClosed = true
  }

  /** One after another, so that the last one to be written is the last one that was said. */
  #write(): Promise<void> {
    this.#written = this.#written.catch(() => {}).then(() => this.#writeNow())
    return this.#written
  }

  async #writeNow(): Promise<void> {
    const { id, generation } = this.install
    this.#log = withLines(this.#log, this.#lines.splice(0))
    const changes = { ...this.#state, log: this.#log }
    if (await this.#services.database.fork().nativeUpdate(SdkInstall, { id, generation }, changes)) return
    this.#obsolete.abort(new Error('The install was removed or begun anew.'))
  }
}
