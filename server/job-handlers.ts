import { audit } from './accounts/audit/service.ts'
import { backupJob, backupKind } from './operations/backup/schedule/job.ts'
import { integrityCheckKind, integrityCheck } from './operations/integrity/service.ts'
import { removePages } from './analysis/docs/store.ts'
import { archiveRemoval, archiveRemovalKind } from './registry/packages/deletion/service.ts'
import { domainCheck, domainCheckKind } from './registry/publishers/domain-check.ts'
import { sdkRemoval, sdkInstall } from './analysis/sdks/installing/install.ts'
import { sdkInstallKind, sdkRemovalKind } from './analysis/sdks/service.ts'
import { analysis } from './analysis/scoring/analyze.ts'
import { panaAnalysis } from './analysis/scoring/pana.ts'
import { analysisKind } from './analysis/docs/service.ts'
import { panaKind } from './analysis/scoring/requests.ts'
import type { Services } from './services.ts'

export const jobHandlers: Services['jobHandlers'] = (services) => ({
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

export const afterJobCancelled: Services['afterJobCancelled'] = (em, { kind, subject }, { viewer, ip }) =>
  audit(em, { kind: 'server.job_cancelled', actor: viewer, summary: `Cancelled the job ${kind} of ${subject}`, ip })
