import type { SignedInContext } from '../../platform/access/context.ts'
import { tooSlow } from '../../errors.ts'
import { heartbeatMs, claimMs, type Claim, hasClaim, renewClaim, uploadInProgress } from './claim.ts'

/** Renews a claim while its connection is sending, and detects when another connection takes over. */
export type Heartbeat = {
  /** Records that data has arrived. */
  recordActivity(): void
  /** Records that the body is complete. The claim is then renewed without further data while the server processes the archive. */
  complete(): void
  /** A promise that rejects when the claim is lost, when it has expired because no data arrived, or when the database is unavailable. */
  lost: Promise<never>
  stop(): void
}

/** Starts renewing a claim. */
export function startHeartbeat(context: SignedInContext, claim: Claim): Heartbeat {
  const { promise: lost, reject } = Promise.withResolvers<never>()
  lost.catch(() => undefined)
  let [isAlive, isComplete, isBusy, silentBeats] = [false, false, false, 0]
  async function beat(): Promise<void> {
    const wasAlive = isAlive || isComplete
    isAlive = false
    silentBeats = wasAlive ? 0 : silentBeats + 1
    if (silentBeats * heartbeatMs > claimMs) throw tooSlow()
    if (silentBeats % beatsPerCheck > 0) return
    if (!(await (wasAlive ? renewClaim(context, claim) : hasClaim(context, claim)))) throw uploadInProgress()
  }
  const timer = setInterval(() => {
    if (isBusy) return
    isBusy = true
    void beat()
      .catch(reject)
      .finally(() => (isBusy = false))
  }, heartbeatMs)
  return {
    recordActivity: () => void (isAlive = true),
    complete: () => void (isComplete = true),
    lost,
    stop: () => clearInterval(timer),
  }
}

/** An idle connection checks once per second whether its claim has been taken over. */
const beatsPerCheck = 4
