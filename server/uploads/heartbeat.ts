import type { SignedInContext } from '../access/context.ts'
import { tooSlow } from '../errors.ts'
import { beatMs, claimMs, type Claim, hasClaim, keepClaim, otherConnection } from './claim.ts'

/** Keeps a claim while its connection sends, and notices when another connection has taken it. */
export type Heartbeat = {
  /** Something came. */
  feel(): void
  /** All has come: from now on the server is at work, and the claim is kept without more. */
  complete(): void
  /** Rejects when the claim is lost, when nothing has come for so long that it does not hold any more, or when the database is away. */
  lost: Promise<never>
  stop(): void
}

/** Starts to keep a claim. */
export function startHeartbeat(context: SignedInContext, claim: Claim): Heartbeat {
  const { promise: lost, reject } = Promise.withResolvers<never>()
  lost.catch(() => undefined)
  let [isAlive, isComplete, isBusy, silentBeats] = [false, false, false, 0]
  async function beat(): Promise<void> {
    const wasAlive = isAlive || isComplete
    isAlive = false
    silentBeats = wasAlive ? 0 : silentBeats + 1
    if (silentBeats * beatMs > claimMs) throw tooSlow()
    if (silentBeats % beatsPerLook > 0) return
    if (!(await (wasAlive ? keepClaim(context, claim) : hasClaim(context, claim)))) throw otherConnection()
  }
  const timer = setInterval(() => {
    if (isBusy) return
    isBusy = true
    void beat()
      .catch(reject)
      .finally(() => (isBusy = false))
  }, beatMs)
  return {
    feel: () => void (isAlive = true),
    complete: () => void (isComplete = true),
    lost,
    stop: () => clearInterval(timer),
  }
}

/** A connection that sends nothing asks once a second whether it has been replaced. */
const beatsPerLook = 4
