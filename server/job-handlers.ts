import { backupJob } from './backup/schedule/job.ts'
import { backupKind } from './backup/schedule/plan.ts'
import { checkKind, integrityCheck } from './integrity/service.ts'
import { removePages } from './docs/store.ts'
import type { Handlers } from './jobs/handler.ts'
import { archiveRemoval, removalKind } from './packages/deletion/remove-archives.ts'
import { domainCheck, domainCheckKind } from './publishers/domain-check.ts'
import { sdkRemoval } from './sdks/installing/collect.ts'
import { sdkInstall } from './sdks/installing/install.ts'
import { installKind as sdkInstallKind, removalKind as sdkRemovalKind } from './sdks/service.ts'
import { excerptsJob, excerptsKind } from './search/complete-excerpts.ts'
import { analysis } from './scoring/analyze.ts'
import { panaAnalysis } from './scoring/pana.ts'
import { analysisKind, panaKind } from './scoring/requests.ts'
import type { Services } from './services.ts'

/** Returns the job handlers by job kind. */
export const jobHandlers = (services: Services): Handlers => ({
  [removalKind]: archiveRemoval(services, (sha256) => removePages(services, sha256)),
  [excerptsKind]: excerptsJob(services),
  [checkKind]: integrityCheck(services),
  [domainCheckKind]: domainCheck(services),
  [sdkInstallKind]: sdkInstall(services),
  [sdkRemovalKind]: sdkRemoval(services),
  [analysisKind]: analysis(services),
  [panaKind]: panaAnalysis(services),
  // Instances without BACKUP_TO leave backup jobs to other instances.
  ...(services.config.BACKUP_TO !== undefined && { [backupKind]: backupJob(services, services.config.BACKUP_TO) }),
})
