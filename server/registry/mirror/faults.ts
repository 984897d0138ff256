import { LRUCache } from 'lru-cache'
import { countDecision } from './decisions.ts'
import type { MirrorServices } from './entries.ts'

/** Something unusable that the upstream server sent. `version` is empty if it concerns the whole package. */
export type UpstreamFault = { version: string; rule: string; reason: string }

declare module '../../services.ts' {
  interface State {
    /** Faults that this process has reported. */
    reportedFaults?: LRUCache<string, true>
  }
}

/** Reports faults of the upstream server, each once: in the log and for administrators. */
export function reportFaults(services: MirrorServices, name: string, faults: readonly UpstreamFault[]): void {
  const reported = (services.state.reportedFaults ??= new LRUCache<string, true>({ max: 1000 }))
  for (const { version, rule, reason } of faults) {
    countDecision(services, { outcome: 'fault', rule, packageName: name, version, reason, userId: null })
    if (reported.has(reason)) continue
    reported.set(reason, true)
    services.log.warning(`mirror: ${reason}`)
  }
}
