import { backupJob, backupKind } from './operations/backup/schedule/job.ts'
import { integrityCheckKind, integrityCheck } from './operations/integrity/service.ts'
import { removePages } from './analysis/docs/store.ts'
import type { Handlers } from './platform/jobs/handler.ts'
import { archiveRemoval, archiveRemovalKind } from './registry/packages/deletion/service.ts'
import { domainCheck, domainCheckKind } from './registry/publishers/domain-check.ts'
import { sdkRemoval, sdkInstall } from './analysis/sdks/installing/install.ts'
import { sdkInstallKind, sdkRemovalKind } from './analysis/sdks/service.ts'
import { analysis } from './analysis/scoring/analyze.ts'
import { panaAnalysis } from './analysis/scoring/pana.ts'
import { analysisKind } from './analysis/docs/service.ts'
import { panaKind } from './analysis/scoring/requests.ts'
import type { Services } from './services.ts'

/** Returns the job handlers by job kind. */
export const jobHandlers = (services: Services): Handlers => ({
  [archiveRemovalKind]: archiveRemoval(services, (sha256) => removePages(services, sha256)),
  [integrityCheckKind]: integrityCheck(services),
  [domainCheckKind]: domainCheck(services),
  [sdkInstallKind]: sdkInstall(services),
  [sdkRemovalKind]: sdkRemoval(services),
  [analysisKind]: analysis(services),
  [panaKind]: panaAnalysis(services),
  // Instances without BACKUP_TO leave backup jobs to other instances.
  ...(services.config.BACKUP_TO !== undefined && { [backupKind]: backupJob(services, services.config.BACKUP_TO) }),
})
