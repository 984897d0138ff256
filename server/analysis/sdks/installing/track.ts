import type { Work } from '../../../platform/jobs/handler.ts'
import type { Services } from '../../../services.ts'
import { type InstallStatus, SdkInstall } from '../entity.ts'
import { withLines } from '../service.ts'

/** Interval in milliseconds for saving the progress and checking whether the install still exists. */
const writeMs = 1000

/** Tracks the progress and log of an install while a job works on it. */
export class Track {
  readonly install: SdkInstall
  /** Aborts when the server stops, another process takes over the job, or the install is removed or restarted. */
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

  /** The install's lazy `log` property must be loaded. */
  constructor(services: Pick<Services, 'database' | 'log'>, install: SdkInstall, work: Work) {
    this.install = install
    this.signal = AbortSignal.any([work.signal, this.#obsolete.signal])
    this.#services = services
    this.#work = work
    this.#state = { status: install.status, bytesDone: install.bytesDone, bytesTotal: install.bytesTotal ?? null }
    this.#log = install.log
    const warn = (error: unknown) => services.log.warning(`SDK install ${install.id}: cannot save the progress: ${String(error)}`)
    this.#timer = setInterval(() => void this.#write().catch(warn), writeMs).unref()
  }

  get isObsolete(): boolean {
    return this.#obsolete.signal.aborted
  }

  /** Starts a step and saves the new status. */
  async begin(status: InstallStatus, line: string): Promise<void> {
    Object.assign(this.#state, { status, bytesDone: 0, bytesTotal: null })
    this.addLine(line)
    await this.#write()
    this.signal.throwIfAborted()
    this.#work.progress({ phase: status, done: 0, total: null })
  }

  /** Reports the progress of the current step, in bytes. */
  report(bytesDone: number, bytesTotal: number | null): void {
    Object.assign(this.#state, { bytesDone, bytesTotal })
    this.#work.progress({ phase: this.#state.status, done: bytesDone, total: bytesTotal })
  }

  addLine(line: string): void {
    this.#lines.push(line)
  }

  /** Saves the remaining log lines and stops saving. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    if (!this.#isClosed && !this.isObsolete) await this.#write()
    this.#isClosed = true
  }

  /** Saves are serialized, so that an older state never overwrites a newer one. */
  #write(): Promise<void> {
    this.#written = this.#written.catch(() => {}).then(() => this.#writeNow())
    return this.#written
  }

  async #writeNow(): Promise<void> {
    const { id, generation } = this.install
    this.#log = withLines(this.#log, this.#lines.splice(0))
    const changes = { ...this.#state, log: this.#log }
    if (await this.#services.database.fork().nativeUpdate(SdkInstall, { id, generation }, changes)) return
    this.#obsolete.abort(new Error('The install was removed or restarted.'))
  }
}
