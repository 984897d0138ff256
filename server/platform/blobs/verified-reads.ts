import { LRUCache } from 'lru-cache'
import { DamagedBytes } from './store.ts'

/** Bytes stored at a content address: an identity that changes when they are replaced, and their SHA-256. */
export type Bytes = { identity: () => string | Promise<string>; hash: () => Promise<string> }
/** Verifies stored bytes against their hash the first time this process reads them. */
export type Verifier = ReturnType<typeof openVerifier>

/** The result of a verification. It is valid as long as the identity of the bytes does not change. */
type Verification = { identity: string; isWhole: boolean; at: number }

const maxJudged = 20_000
/** Milliseconds for which corrupt bytes are not verified again, unless their identity changes. */
const damagedForMs = 30_000

/**
 * Creates a verifier with its own cache. All bytes are read before the first one is sent, because a 200 status cannot be revoked; hashing takes a
 * fraction of a second even for the largest archives. Concurrent reads of the same bytes share one verification.
 */
export function openVerifier() {
  // `maxSize` instead of `max`, which would allocate memory for all entries at once.
  const judged = new LRUCache<string, Verification>({ maxSize: maxJudged, sizeCalculation: () => 1 })
  const running = new Map<string, Promise<void>>()
  async function judge(sha256: string, bytes: Bytes): Promise<void> {
    const identity = await bytes.identity()
    const isWhole = (await bytes.hash()) === sha256
    judged.set(sha256, { identity, isWhole, at: performance.now() })
  }
  return {
    /** @throws DamagedBytes if the bytes do not match the hash in their address. */
    async check(sha256: string, bytes: Bytes): Promise<void> {
      for (;;) {
        const known = judged.get(sha256)
        if (known && known.identity === (await bytes.identity())) {
          if (known.isWhole) return
          if (performance.now() - known.at < damagedForMs) throw new DamagedBytes(sha256)
        }
        const other = running.get(sha256)
        if (other) {
          await other.catch(() => {})
          continue
        }
        const judging = judge(sha256, bytes).finally(() => running.delete(sha256))
        running.set(sha256, judging)
        await judging
      }
    },
    /** Discards the result for an address, so that the next read verifies it again. */
    forget: (sha256: string): void => void judged.delete(sha256),
  }
}
