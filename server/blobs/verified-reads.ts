import { LRUCache } from 'lru-cache'
import { DamagedBytes } from './store.ts'

/** Bytes that are stored under their hash. */
export type Bytes = {
  /** Tells these bytes from any others that are stored under the same address at another time. */
  identity: () => string
  /** The hash that they have. */
  hash: () => Promise<string>
}

/** How bytes were when their hash was compared. It is compared anew once they are others. */
type Judged = { identity: string; isWhole: boolean; at: number }

const maxJudged = 20_000
/** For so long damaged bytes are not read again, unless they changed. */
const damagedForMs = 30_000

/** Compares the hash of stored bytes with their address, the first time that this process reads them. */
export type Verifier = {
  /** @throws DamagedBytes when these are other bytes than their address says. */
  check(sha256: string, bytes: Bytes): Promise<void>
  /** Has the bytes compared again the next time. */
  forget(sha256: string): void
}

/**
 * Makes a verifier with a memory of its own. All bytes are read before the first one goes out: a status of 200 cannot be taken back, and
 * hashing takes a fraction of a second even for the largest archives. Whoever asks for the same bytes meanwhile waits for the same answer.
 */
export function openVerifier(): Verifier {
  // A maximum of sizes: the memory for a maximum of entries would be taken at once.
  const judged = new LRUCache<string, Judged>({ maxSize: maxJudged, sizeCalculation: () => 1 })
  const underWay = new Map<string, Promise<void>>()
  async function judge(sha256: string, bytes: Bytes): Promise<void> {
    const identity = bytes.identity()
    const isWhole = (await bytes.hash()) === sha256
    judged.set(sha256, { identity, isWhole, at: performance.now() })
  }
  return {
    async check(sha256, bytes) {
      for (;;) {
        const known = judged.get(sha256)
        if (known && known.identity === bytes.identity()) {
          if (known.isWhole) return
          if (performance.now() - known.at < damagedForMs) throw new DamagedBytes(sha256)
        }
        const other = underWay.get(sha256)
        if (other) {
          await other.catch(() => {})
          continue
        }
        const judging = judge(sha256, bytes).finally(() => underWay.delete(sha256))
        underWay.set(sha256, judging)
        await judging
      }
    },
    forget: (sha256) => void judged.delete(sha256),
  }
}
