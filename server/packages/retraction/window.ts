import type { Config } from '../../config/config.ts'
import type { PackageVersion } from '../entity.ts'

type Retractable = Pick<PackageVersion, 'createdAt' | 'retractedAt'>
type Rules = Pick<Config, 'ENFORCE_RETRACTION_WINDOW'>

/** Both windows. */
export const windowDays = 7
const windowMs = windowDays * 86_400_000

/** The last moment to retract a version; null when it is retracted already, and when the server sets no limit. */
export function retractableUntil({ createdAt, retractedAt }: Retractable, { ENFORCE_RETRACTION_WINDOW }: Rules): Date | null {
  return retractedAt || !ENFORCE_RETRACTION_WINDOW ? null : new Date(createdAt.getTime() + windowMs)
}

/** The last moment to restore a retracted version; null when it is not retracted, and when the server sets no limit. */
export function restorableUntil({ retractedAt }: Retractable, { ENFORCE_RETRACTION_WINDOW }: Rules): Date | null {
  return retractedAt && ENFORCE_RETRACTION_WINDOW ? new Date(retractedAt.getTime() + windowMs) : null
}

/** Whether a version can be retracted at this moment, by whoever may. */
export const isRetractable = (version: Retractable, rules: Rules, now: Date): boolean =>
  !version.retractedAt && isOpen(retractableUntil(version, rules), now)

/** Whether a version can be restored at this moment, by whoever may. */
export const isRestorable = (version: Retractable, rules: Rules, now: Date): boolean =>
  version.retractedAt != null && isOpen(restorableUntil(version, rules), now)

const isOpen = (until: Date | null, now: Date) => until === null || now <= until
