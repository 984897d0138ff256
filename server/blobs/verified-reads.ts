import { createHash } from 'node:crypto'
import { fstatSync, read } from 'node:fs'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'
import { DamagedBytes } from './store.ts'

/** How a file was when its hash was compared. It is compared anew once the file is another one. */
type Judged = { size: number; mtimeMs: number; ino: number; isWhole: boolean; at: number }

const maxJudged = 20_000
/** For so long a damaged file is not read again, unless it changed. */
const damagedForMs = 30_000
const chunkBytes = 256 * 1024

/** Compares the hash of files with their address, the first time that this process reads them. */
export type Verifier = {
  /** @throws DamagedBytes when an open file has other bytes than its address says. */
  check(fd: number, sha256: string): Promise<void>
  /** Has the file compared again the next time. */
  forget(sha256: string): void
}

/**
 * Makes a verifier with a memory of its own. The whole file is read before the first byte goes out: a status of 200 cannot be taken back, and
 * hashing takes a fraction of a second even for the largest archives. Whoever asks for the same file meanwhile waits for the same answer.
 */
export function openVerifier(): Verifier {
  const judged = new LRUCache<string, Judged>({ max: maxJudged })
  const underWay = new Map<string, Promise<void>>()
  async function judge(fd: number, sha256: string): Promise<void> {
    const facts = factsOf(fd)
    const isWhole = (await hashOf(fd)) === sha256
    judged.set(sha256, { ...facts, isWhole, at: performance.now() })
  }
  return {
    async check(fd, sha256) {
      for (;;) {
        const known = judged.get(sha256)
        if (known && isSame(known, factsOf(fd))) {
          if (known.isWhole) return
          if (performance.now() - known.at < damagedForMs) throw new DamagedBytes(sha256)
        }
        const other = underWay.get(sha256)
        if (other) {
          await other.catch(() => {})
          continue
        }
        const judging = judge(fd, sha256).finally(() => underWay.delete(sha256))
        underWay.set(sha256, judging)
        await judging
      }
    },
    forget: (sha256) => void judged.delete(sha256),
  }
}

function factsOf(fd: number): Pick<Judged, 'size' | 'mtimeMs' | 'ino'> {
  const { size, mtimeMs, ino } = fstatSync(fd)
  return { size, mtimeMs, ino }
}

const isSame = (one: Omit<Judged, 'isWhole' | 'at'>, other: Omit<Judged, 'isWhole' | 'at'>) =>
  one.size === other.size && one.mtimeMs === other.mtimeMs && one.ino === other.ino

async function hashOf(fd: number): Promise<string> {
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(chunkBytes)
  for (let position = 0; ;) {
    const { bytesRead } = await readDescriptor(fd, chunk, 0, chunkBytes, position)
    if (bytesRead === 0) return hash.digest('hex')
    hash.update(chunk.subarray(0, bytesRead))
    position += bytesRead
  }
}

const readDescriptor = promisify(read)
