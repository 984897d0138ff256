import { constants, copyFile, mkdir, open, realpath, statfs, symlink } from 'node:fs/promises'
import { dirname, join, posix, sep } from 'node:path'

export type Bounds = {
  entries: number
  bytes: number
  freeBytes: number
}

export type Attributes = { mode: number; modified: Date }

export type Unpacked = { entries: number; bytes: number }
/** Receives the progress in bytes. */
export type Report = (done: number, total: number) => void

/** Number of bytes written between two checks of the free disk space. */
const checkIntervalBytes = 32 * 1024 ** 2

/**
 * Writes archive entries into a folder. Rejects entries outside of the folder, duplicate entries and archives that exceed the limits. Symbolic links
 * are created last, so that no entry can be written through a link.
 */
export class Folder {
  readonly #root: string
  readonly #top: string
  readonly #bounds: Bounds
  readonly #links = new Map<string, string>()
  /** Sizes of the written files by path. */
  readonly #files = new Map<string, number>()
  readonly #folders = new Set<string>()
  #entries = 0
  #bytes = 0
  #nextCheckAt = 0

  /** `root` must exist and be empty. `top` is the archive's single top-level folder. */
  constructor(root: string, top: string, bounds: Bounds) {
    this.#root = root
    this.#top = top
    this.#bounds = bounds
  }

  async folder(raw: string): Promise<void> {
    const path = this.#accept(raw)
    if (path !== '') await this.#make(path)
  }

  async file(raw: string, { mode, modified }: Attributes, content: AsyncIterable<Uint8Array>): Promise<void> {
    const path = this.#accept(raw)
    if (path === '') throw new UnpackRejected(`The archive has the file ${quoted(raw)} where its folder should be.`)
    await this.#make(dirname(path))
    // Only the server's account can write; the executable bit is kept.
    const file = await open(join(this.#root, path), 'wx', (mode & 0o111) === 0 ? 0o644 : 0o755).catch(rejectDuplicate(raw))
    let size = 0
    try {
      for await (const chunk of content) {
        size += chunk.length
        await this.#count(chunk.length)
        await file.writeFile(chunk)
      }
      // Modification times matter: Flutter's tool rebuilds itself if its sources are newer than its build outputs.
      await file.utimes(modified, modified)
    } finally {
      await file.close()
    }
    this.#files.set(path, size)
  }

  link(raw: string, target: string): void {
    const path = this.#accept(raw)
    requireInside(path, target)
    if (path === '' || this.#files.has(path) || this.#folders.has(path)) throw twice(raw)
    this.#links.set(path, target)
  }

  /** Unpacks a hard link as a copy of a file that was already unpacked. */
  async copy(raw: string, original: string): Promise<void> {
    const [path, from] = [this.#accept(raw), pathBelow(this.#top, original)]
    const size = this.#files.get(from)
    if (size === undefined)
      throw new UnpackRejected(`The archive has the link ${quoted(raw)} to ${quoted(original)}, which is not a file in the archive.`)
    await this.#make(dirname(path))
    await this.#count(size)
    await copyFile(join(this.#root, from), join(this.#root, path), constants.COPYFILE_EXCL).catch(rejectDuplicate(raw))
    this.#files.set(path, size)
  }

  async finish(): Promise<Unpacked> {
    for (const [path, target] of this.#links) {
      await this.#make(dirname(path))
      await symlink(target, join(this.#root, path)).catch(rejectDuplicate(path))
    }
    const root = await realpath(this.#root)
    for (const path of this.#links.keys()) {
      const real = await realpath(join(root, path)).catch(() => null)
      if (real !== null && real !== root && !real.startsWith(root + sep))
        throw new UnpackRejected(`The archive has the link ${quoted(path)}, which leads out of its folder.`)
    }
    return { entries: this.#entries, bytes: this.#bytes }
  }

  #accept(raw: string): string {
    if (++this.#entries > this.#bounds.entries) throw new UnpackRejected(`The archive has more than ${this.#bounds.entries} entries.`)
    return pathBelow(this.#top, raw)
  }

  async #make(path: string): Promise<void> {
    if (path === '.' || this.#folders.has(path)) return
    if (this.#links.has(path)) throw new UnpackRejected(`The archive has entries below the link ${quoted(path)}.`)
    if (this.#files.has(path)) throw twice(path)
    await this.#make(dirname(path))
    await mkdir(join(this.#root, path), { mode: 0o755 }).catch(rejectDuplicate(path))
    this.#folders.add(path)
  }

  async #count(bytes: number): Promise<void> {
    this.#bytes += bytes
    if (this.#bytes > this.#bounds.bytes) throw new UnpackRejected(`The archive holds more than ${this.#bounds.bytes} bytes.`)
    if (this.#bytes < this.#nextCheckAt) return
    this.#nextCheckAt = this.#bytes + checkIntervalBytes
    const { bavail, bsize } = await statfs(this.#root)
    if (bavail * bsize < this.#bounds.freeBytes) throw new UnpackRejected(diskFullMessage)
  }
}

export const diskFullMessage = 'There is not enough free disk space for this SDK. Free up disk space, then install the SDK again.'

const twice = (raw: string) => new UnpackRejected(`The archive has ${quoted(raw)} twice.`)

const rejectDuplicate = (raw: string) => (error: NodeJS.ErrnoException) => {
  throw error.code === 'EEXIST' ? twice(raw) : error
}

const maxPath = 1024
const maxSegment = 255

/** Returns an entry's path relative to the top-level folder `top`. @throws UnpackRejected for an unsafe path, or one outside of `top`. */
function pathBelow(top: string, raw: string): string {
  const path = raw.replace(/^(\.\/)+/, '').replace(/\/+$/, '')
  const segments = path.split('/')
  const isPlain = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..' && segment.length <= maxSegment)
  // oxlint-disable-next-line no-control-regex -- the pattern detects control characters
  if (!isPlain || path.length > maxPath || /[\u0000-\u001f\u007f\\]/.test(path) || /^[A-Za-z]:/.test(path))
    throw new UnpackRejected(`The archive has the path ${quoted(raw)}, which may lead out of its folder.`)
  if (segments[0] !== top) throw new UnpackRejected(`The archive has ${quoted(raw)} outside of its folder ${top}.`)
  return segments.slice(1).join('/')
}

/**
 * Rejects a symbolic link that may point outside of the folder. `..` is allowed only at the beginning of the target, because after another link it
 * resolves to a different folder than the text suggests. @throws UnpackRejected
 */
function requireInside(path: string, target: string): void {
  const resolved = posix.normalize(posix.join(posix.dirname(path), target))
  const goesUpLate = /(^|\/)(?!\.\.?(\/|$))[^/]+\/(.*\/)?\.\.(\/|$)/.test(target)
  if (target === '' || target.includes('\0') || posix.isAbsolute(target) || goesUpLate || resolved === '..' || resolved.startsWith('../'))
    throw new UnpackRejected(`The archive has the link ${quoted(path)} to ${quoted(target)}, which may lead out of its folder.`)
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 200))

/** An archive that is invalid or does not fit on the disk. Retrying does not help. The message is shown to administrators. */
export class UnpackRejected extends Error {
  override readonly name = 'UnpackRejected'
}

/** Converts an error of reading an archive. Returns system errors unchanged and reports any other error as an invalid archive. */
export const unpackFailure = (error: unknown): unknown =>
  error instanceof UnpackRejected || !(error instanceof Error) || 'syscall' in error
    ? error
    : new UnpackRejected(`The archive cannot be read: ${error.message}`)
